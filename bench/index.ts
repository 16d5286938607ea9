// `npm run bench`: runs the suites, prints what they found beside what was promised, and keeps it as JSON.
//
//   npm run bench                        all of them
//   npm run bench -- --only appends,rows some of them
//   npm run bench -- --rounds 30         more rounds, for a noisy machine

import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, isMet, type Suite } from './suite.ts'
import { suites } from './suites.ts'
import { Stage } from './support/stage.ts'
import { table } from './support/table.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '12' },
  },
})

const results: Record<string, Figure[]> = {}
const stage = new Stage({ rounds: Number(values.rounds) })
try {
  for (const suite of chosen(values.only)) {
    console.log(`\n${suite.name}: ${suite.about}`)
    const figures = await suite.run(stage)
    results[suite.name] = figures
    console.log(table(figures))
  }
} finally {
  await stage.close()
}
report()

function chosen(only: string | undefined): readonly Suite[] {
  if (only === undefined) return suites
  const names = only.split(',')
  const unknown = names.find((name) => !suites.some((suite) => suite.name === name))
  if (unknown !== undefined) {
    console.error(`There is no suite "${unknown}"; there are ${suites.map(({ name }) => name).join(', ')}.`)
    process.exit(1)
  }
  return suites.filter(({ name }) => names.includes(name))
}

function report(): void {
  const machine = { cores: availableParallelism(), cpu: cpus()[0]?.model ?? 'unknown', node: process.version }
  const path = join(import.meta.dirname, 'results.json')
  writeFileSync(path, `${JSON.stringify({ at: new Date().toISOString(), machine, results }, null, 2)}\n`)
  const missed = Object.values(results)
    .flat()
    .filter((figure) => isMet(figure) === false)
  console.log(`\n${machine.cores} cores, ${machine.cpu}, Node ${machine.node}; all figures in ${path}`)
  console.log(missed.length === 0 ? 'Every target is met.' : `${missed.length} targets are missed.`)
}
