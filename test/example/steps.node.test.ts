import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { editsOf } from '../../examples/durable-agent/edits.ts'
import { type RecordedStep, readRun } from '../../examples/durable-agent/run.ts'
import { recordStep, summarise } from '../../examples/durable-agent/steps.ts'
import { Transaction } from '../../src/client/transaction.ts'
import { runs } from './runs.ts'

function step(action: string, observation = '', workingDir = '/repo'): RecordedStep {
  return { action, observation, workingDir, response: '', thought: '', openFile: null }
}

describe('a recorded run', () => {
  test('is read whether its state is an object or JSON text, and with texts missing', () => {
    const text = JSON.stringify({
      trajectory: [
        { action: 'ls', state: '{"open_file": "n/a", "working_dir": "/a"}\n', thought: 'Look.' },
        { action: 'ls', response: 'Looking.', state: { open_file: '/a/b', working_dir: '/a' } },
        {},
      ],
    })
    expect(readRun('r', text).steps).toEqual([
      {
        action: 'ls',
        response: 'Look.',
        thought: 'Look.',
        observation: '',
        openFile: null,
        workingDir: '/a',
      },
      {
        action: 'ls',
        response: 'Looking.',
        thought: '',
        observation: '',
        openFile: '/a/b',
        workingDir: '/a',
      },
      { action: '', response: '', thought: '', observation: '', openFile: null, workingDir: '/' },
    ])
  })

  test('that is none is refused', () => {
    expect(() => readRun('r', '{}')).toThrow('no trajectory')
    expect(() => readRun('r', 'no')).toThrow('JSON')
  })
})

describe('the files of a step', () => {
  const shown = (lines: string, end = '\n') => `[File: /repo/a.py (9 lines total)]${end}${lines}`

  test('are read off what the editor shows, whatever ends its lines', () => {
    const lines = '(3 more lines above)\n4:x = 1\n5:\n6:\ty\n(3 more lines below)\n'
    expect(editsOf(step('edit 4:4\nx = 1\nend_of_edit', `File updated.\n${shown(lines)}`))).toEqual([
      { path: '/repo/a.py', content: 'x = 1\n\n\ty\n' },
    ])
    expect(editsOf(step('edit 4:4', shown('1:x\r\n2:y\r\n', '\r\n')))).toEqual([
      { path: '/repo/a.py', content: 'x\ny\n' },
    ])
    expect(editsOf(step('create b', '[File: b (1 lines total)]\n1:\n'))).toEqual([
      { path: '/repo/b', content: '' },
    ])
  })

  test('are left alone by an edit that was refused', () => {
    expect(
      editsOf(step('edit 4:4', `Your proposed edit has introduced new syntax error(s).\n${shown('4:x')}`)),
    ).toEqual([])
  })

  test('are what a here-document says', () => {
    const content = 'one\n$two\n'
    for (const first of ["cat <<'EOF' > d/x.txt", 'cat > d/x.txt << EOF', 'cat <<EOF >d/x.txt']) {
      expect(editsOf(step(`${first}\none\n$two\nEOF\nls`))).toEqual([{ path: '/repo/d/x.txt', content }])
    }
    expect(editsOf(step('cat a.txt > b.txt'))).toEqual([])
  })

  test('go when they are removed, if the run wrote them', () => {
    expect(editsOf(step('rm -f a.py'))).toEqual([{ path: '/repo/a.py', removed: true }])
    expect(editsOf(step('rm *.py'))).toEqual([])
    const run = {
      name: 'r',
      steps: [step('rm a'), step('create a', '[File: a (1 lines total)]\n1:'), step('rm a'), step('rm a')],
    }
    expect(run.steps.map((_, index) => summarise(run, index).touched)).toEqual([
      [],
      ['+work/repo/a'],
      ['-work/repo/a'],
      [],
    ])
  })
})

test.each(runs)(
  '$name: each step is one commit with its message, call, result, state and files',
  ({ name, file }) => {
    if (file === null) return
    const run = readRun(name, readFileSync(file, 'utf8'))
    for (const [index, recorded] of run.steps.entries()) {
      const tx = new Transaction()
      recordStep(tx, run, index)
      const ops = tx.ops.map((op) => ('content' in op ? { ...op.op, content: op.content } : op))
      const call = `step-${index + 1}`
      expect(ops.slice(0, 3)).toMatchObject([
        { op: 'log.append', type: 'message', key: `${call}/message` },
        { op: 'log.append', type: 'tool_call', payload: { id: call, input: { command: recorded.action } } },
        { op: 'log.append', type: 'tool_result', payload: { call_id: call, output: recorded.observation } },
      ])
      expect(ops).toContainEqual({ op: 'state.set', key: 'cursor', value: index + 1 })
      const status = index + 1 === run.steps.length ? 'done' : 'running'
      expect(ops).toContainEqual({ op: 'state.set', key: 'status', value: status })
      const transcript = `steps/${String(index + 1).padStart(3, '0')}.txt`
      expect(ops).toContainEqual(
        expect.objectContaining({ op: 'file.put', path: transcript, content: recorded.observation }),
      )
    }
  },
)
