// What a person who starts the local edge can do something about. The command line prints its message and nothing
// else; any other exception is a bug and keeps its stack.

export class LocalError extends Error {
  override name = 'LocalError'
}
