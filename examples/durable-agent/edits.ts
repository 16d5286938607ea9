// What a recorded command did to files. The sandbox is gone, but its tools print a file after each change, so that its content
// can be read off the observation.

import { posix } from 'node:path'
import type { RecordedStep } from './run.ts'

/** A change of one file, named by its absolute path in the sandbox. */
export type Edit = { path: string; content: string } | { path: string; removed: true }

/** What this step did to files, as far as its record tells. */
export function editsOf(step: RecordedStep): Edit[] {
  const edit = shown(step) ?? heredoc(step) ?? removal(step)
  return edit === null ? [] : [edit]
}

/** `create` and `edit` print `[File: path (n lines total)]` and the numbered lines around the change. */
function shown({ action, observation, workingDir }: RecordedStep): Edit | null {
  if (!/^(create|edit)\b/.test(action)) return null
  // A refused edit prints the file as it would have been.
  if (observation.startsWith('Your proposed edit')) return null
  const header = /\[File: (\S+) \(\d+ lines total\)\]\r?\n/.exec(observation)
  const path = header?.[1]
  if (header === null || path === undefined) return null
  const lines: string[] = []
  for (const line of observation.slice(header.index + header[0].length).split(/\r?\n/)) {
    const numbered = /^\d+:(.*)$/s.exec(line)
    if (numbered !== null) lines.push(numbered[1] ?? '')
    else if (lines.length > 0) break
  }
  return { path: posix.resolve(workingDir, path), content: asText(lines) }
}

/** `cat <<EOF > file`, in either order, with or without quotes. */
function heredoc({ action, workingDir }: RecordedStep): Edit | null {
  const [first = '', ...rest] = action.split(/\r?\n/)
  const mark = /<<-?\s*(["']?)(\w+)\1/.exec(first)?.[2]
  const target = /[^>]>\s*([^\s<>|;&]+)/.exec(first)?.[1]
  if (!/^cat\b/.test(first) || mark === undefined || target === undefined) return null
  const end = rest.indexOf(mark)
  return { path: posix.resolve(workingDir, target), content: asText(end === -1 ? rest : rest.slice(0, end)) }
}

function removal({ action, workingDir }: RecordedStep): Edit | null {
  const target = /^rm(?:\s+-\w+)*\s+([^\s;&|*]+)\s*$/.exec(action)?.[1]
  return target === undefined ? null : { path: posix.resolve(workingDir, target), removed: true }
}

function asText(lines: string[]): string {
  const text = lines.join('\n')
  return text === '' ? '' : `${text}\n`
}
