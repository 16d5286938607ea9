// The functions that derive a column's value outside the commit: an embedding of text, or an address of the user's own that is
// sent the row and answers the value. What comes of a call is a value, or why there is none and whether to ask again.

import { type Json, parseJson, ValueError } from '../../protocol/canonical.ts'
import type { EmbedProvider } from './definition.ts'

export type CallResult = { value: Json } | { problem: string; type: string; again: boolean }

/** Makes a vector of each text; throws when there is none to be had. */
export type Embed = (
  texts: readonly string[],
  by: { provider: EmbedProvider; model: string; dims: number },
) => Promise<number[][]>

const timeoutMs = 20_000
const answerBytes = 1024 * 1024

/** Asks an endpoint about one row: POSTs it as JSON, and takes `{"value": …}`. */
export async function callEndpoint(url: string, body: object): Promise<CallResult> {
  const refused = addressProblem(url)
  if (refused !== null) return { problem: refused, type: 'address', again: false }
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
      // A redirect could lead where the address itself may not.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      const again = response.status >= 500 || response.status === 429 || response.status === 408
      return { problem: `the endpoint answered ${response.status}`, type: 'http', again }
    }
    return readAnswer(await textOf(response))
  } catch (error) {
    const timedOut = error instanceof Error && error.name === 'TimeoutError'
    const problem = timedOut ? `no answer within ${timeoutMs} ms` : 'the endpoint could not be reached'
    return { problem, type: timedOut ? 'timeout' : 'network', again: true }
  }
}

async function textOf(response: Response): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > answerBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function readAnswer(text: string | null): CallResult {
  if (text === null)
    return { problem: `the answer has more than ${answerBytes} bytes`, type: 'answer', again: false }
  try {
    const answer = parseJson(text)
    if (typeof answer === 'object' && answer !== null && Object.hasOwn(answer, 'value'))
      // What was parsed from JSON is JSON.
      return { value: Reflect.get(answer, 'value') as Json }
    return { problem: 'the answer is no object with a value', type: 'answer', again: false }
  } catch (error) {
    const problem = error instanceof ValueError ? error.message : 'the answer is not JSON'
    return { problem: `the answer: ${problem}`, type: 'answer', again: false }
  }
}

/**
 * Why an address may not be called, or null. A session calls out from inside: an address that names a machine of the network
 * it runs in, or of none, is not the user's own.
 */
export function addressProblem(address: string): string | null {
  if (!URL.canParse(address)) return 'not an address'
  const { protocol, hostname, username, password, port } = new URL(address)
  if (protocol !== 'https:') return 'the address is not HTTPS'
  if (username !== '' || password !== '') return 'the address holds a password'
  if (port !== '') return 'the address has a port of its own'
  const host = hostname.toLowerCase().replace(/\.$/, '')
  // No address by number, in any of the ways to write one: an IPv6 one is in brackets, and any other ends in a number.
  if (host.startsWith('[') || /(^|\.)(\d+|0x[0-9a-f]*)$/.test(host)) return 'the address names no host'
  if (!host.includes('.')) return 'the address names no public host'
  if (/\.(local|localhost|internal|intranet|lan|home|corp|test|invalid|onion|arpa)$/.test(host))
    return 'the address names no public host'
  return null
}
