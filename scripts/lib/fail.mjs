// Ends a script with words for a person instead of a stack.

export function fail(message) {
  console.error(message)
  process.exit(1)
}
