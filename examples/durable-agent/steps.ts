// What each step of a run makes of the world: one commit. Pure: the same run gives the same commits, whoever plays it and
// however often it was interrupted.

import type { Transaction } from '../../src/client/index.ts'
import { type Edit, editsOf } from './edits.ts'
import type { RecordedStep, Run } from './run.ts'

/** What the agent remembers between steps, under these keys of its state. */
export interface Memory {
  /** Which run this world plays. */
  run: { name: string; steps: number }
  /** Steps that are done. */
  cursor: number
  status: 'running' | 'done'
  plan: Plan
}

export interface Plan {
  intent: string
  tool: string
  open_file: string | null
  working_dir: string
}

/** One step, said in a line. */
export interface Summary {
  tool: string
  /** Paths that it wrote or removed, beside its own transcript. */
  touched: string[]
}

/** The name that step `index` (from 0) has in correlation keys, paths and idempotency keys: they count from 1. */
export function stepName(index: number): string {
  return `step-${index + 1}`
}

/** Puts everything that step `index` of a run did into a commit. */
export function recordStep(tx: Transaction, run: Run, index: number): void {
  const step = stepAt(run, index)
  const name = stepName(index)
  const tool = toolOf(step)

  tx.log.append([
    { type: 'message', key: `${name}/message`, payload: { role: 'assistant', content: step.response } },
    {
      type: 'tool_call',
      key: `${name}/call`,
      payload: { id: name, name: tool, input: { command: step.action } },
    },
    { type: 'tool_result', key: `${name}/result`, payload: { call_id: name, output: step.observation } },
  ])

  const cursor = index + 1
  const plan: Plan = {
    intent: step.thought.trim(),
    tool,
    open_file: step.openFile,
    working_dir: step.workingDir,
  }
  if (index === 0) tx.state.set('run', { name: run.name, steps: run.steps.length })
  tx.state.set('plan', plan)
  tx.state.set('cursor', cursor)
  tx.state.set('status', cursor === run.steps.length ? 'done' : 'running')

  tx.files.put(`steps/${String(cursor).padStart(3, '0')}.txt`, step.observation)
  for (const edit of fileChanges(run, index)) {
    if ('removed' in edit) tx.files.delete(inWorld(edit.path))
    else tx.files.put(inWorld(edit.path), edit.content)
  }
}

export function summarise(run: Run, index: number): Summary {
  return {
    tool: toolOf(stepAt(run, index)),
    touched: fileChanges(run, index).map((edit) => `${'removed' in edit ? '-' : '+'}${inWorld(edit.path)}`),
  }
}

/** A step's edits, without removals of files that the run never wrote: the world does not hold them. */
function fileChanges(run: Run, index: number): Edit[] {
  const written = new Set<string>()
  for (const step of run.steps.slice(0, index)) {
    for (const edit of editsOf(step)) {
      if ('removed' in edit) written.delete(edit.path)
      else written.add(edit.path)
    }
  }
  return editsOf(stepAt(run, index)).filter((edit) => !('removed' in edit) || written.has(edit.path))
}

/** The sandbox's absolute paths live below one folder of the world. */
function inWorld(path: string): string {
  return `work${path.startsWith('/') ? path : `/${path}`}`
}

function toolOf({ action }: RecordedStep): string {
  return /^\s*(\S+)/.exec(action)?.[1] ?? 'nothing'
}

function stepAt(run: Run, index: number): RecordedStep {
  const step = run.steps[index]
  if (step === undefined) throw new RangeError(`the run ${run.name} has no step ${index + 1}`)
  return step
}
