// Names for rows of a table without a key column: ULIDs, so that rows sort as they were made, and two forks never give the
// same name to two rows.

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Names that begin with one time and a random start, each greater than the one before. */
export function freshKeys(at: number): () => string {
  const random = crypto.getRandomValues(new Uint8Array(10))
  // Room to count upwards without ever passing the top.
  random[0] = (random[0] ?? 0) & 0x7f
  let count = random.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  const head = encode(BigInt(at), 10)
  return () => head + encode(++count, 16)
}

function encode(number: bigint, length: number): string {
  let text = ''
  let rest = number
  for (let i = 0; i < length; i++) {
    text = alphabet[Number(rest & 31n)] + text
    rest >>= 5n
  }
  return text
}
