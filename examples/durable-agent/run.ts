// A recorded run of an agent, as `.traj.json` files hold them, brought into one shape. The files differ: `state` is an object
// or JSON text, and any text may be missing.

/** One turn: what the model said, what it did, what came back. */
export interface RecordedStep {
  /** The whole message of the model. */
  response: string
  thought: string
  /** The command it gave. */
  action: string
  /** What the sandbox answered. */
  observation: string
  openFile: string | null
  workingDir: string
}

export interface Run {
  name: string
  steps: RecordedStep[]
}

/**
 * Reads a recorded run.
 *
 * @throws {TypeError} the text is not JSON, or has no `trajectory`
 * @example readRun('hello', await readFile('runs/hello.traj.json', 'utf8')).steps.length // 7
 */
export function readRun(name: string, text: string): Run {
  const { trajectory } = object(parse(text))
  if (!Array.isArray(trajectory)) throw new TypeError(`${name}: there is no trajectory in it`)
  return { name, steps: trajectory.map((step) => normalise(object(step))) }
}

function normalise(step: Record<string, unknown>): RecordedStep {
  const state = object(typeof step.state === 'string' ? parse(step.state) : step.state)
  const thought = string(step.thought)
  const openFile = string(state.open_file)
  return {
    response: string(step.response) || thought,
    thought,
    action: string(step.action),
    observation: string(step.observation),
    openFile: openFile === '' || openFile === 'n/a' ? null : openFile,
    workingDir: string(state.working_dir) || '/',
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new TypeError('a recorded run is a JSON file', { cause })
  }
}

function object(value: unknown): Record<string, unknown> {
  // Any object may be asked for any member; what it holds is checked where it is used.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
