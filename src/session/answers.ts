// Idempotency: the first answer to a request with a key is kept, and given word for word to every retry. Only success is
// kept: a refused request wrote nothing, so asking it again is safe and may by then be right.

import { type Failure, fail, type Outcome } from '../protocol/errors.ts'
import type { Idempotency } from './rpc.ts'
import type { World } from './world.ts'

/** How long an answer is kept. */
export const answerLifeMs = 7 * 24 * 3600 * 1000

/** The answer given before, a refusal when the key was used for something else, or null when the request is new. */
export function earlierAnswer<T>(world: World, asked: Idempotency | undefined): Outcome<T> | null {
  if (asked === undefined) return null
  const row = world.sql
    .exec<{ request: ArrayBuffer; answer: string }>(
      'SELECT request, answer FROM answers WHERE key = ?',
      asked.key,
    )
    .toArray()[0]
  if (!row) return null
  if (Buffer.compare(Buffer.from(row.request), Buffer.from(asked.request)) !== 0) return mismatch()
  // What `keepAnswer` stored under this key for this very request.
  return { ok: true, ...(JSON.parse(row.answer + rest(world, asked.key, row.answer.length)) as T) }
}

/** Characters of an answer in one row: three bytes each still fit. */
const answerChars = 500_000

/** What did not fit in the answer's first row. */
function rest({ sql }: World, key: string, first: number): string {
  if (first < answerChars) return ''
  return sql
    .exec<{ answer: string }>('SELECT answer FROM more_answers WHERE key = ? ORDER BY part', key)
    .toArray()
    .map(({ answer }) => answer)
    .join('')
}

export function keepAnswer(world: World, asked: Idempotency | undefined, answer: object, now: number): void {
  if (asked === undefined) return
  const text = JSON.stringify(answer)
  world.sql.exec(
    'INSERT INTO answers (key, request, at, answer) VALUES (?, ?, ?, ?)',
    asked.key,
    asked.request,
    now,
    text.slice(0, answerChars),
  )
  for (let at = answerChars; at < text.length; at += answerChars) {
    world.sql.exec(
      'INSERT INTO more_answers (key, part, answer) VALUES (?, ?, ?)',
      asked.key,
      at / answerChars,
      text.slice(at, at + answerChars),
    )
  }
}

/** Does something once a key: what it answers is kept in the same transaction as what it writes. */
export function once<T extends object>(
  world: World,
  asked: Idempotency | undefined,
  act: () => Outcome<T>,
): Outcome<T> {
  try {
    return world.storage.transactionSync(() => {
      const earlier = earlierAnswer<T>(world, asked)
      if (earlier) return earlier
      const outcome = act()
      if (outcome.ok) {
        const { ok: _, ...answer } = outcome
        keepAnswer(world, asked, answer, Date.now())
      }
      return outcome
    })
  } catch (error) {
    // The rows are as before; what was cached of them must be too.
    world.reload()
    throw error
  }
}

/** Removes answers nobody will ask for again, a bounded number at a time. */
export function forgetAnswers(world: World, now: number, most = 1000): boolean {
  return world.storage.transactionSync(() => {
    const old = world.sql.exec(
      'DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE at < ? LIMIT ?)',
      now - answerLifeMs,
      most,
    )
    world.sql.exec('DELETE FROM more_answers WHERE key NOT IN (SELECT key FROM answers)')
    return old.rowsWritten >= most
  })
}

function mismatch(): Failure {
  return fail('idempotency_mismatch', 'this idempotency key was used with another request')
}
