// Recall over an old version. The indexes know the head alone, so this looks at every memory of that version, by the same words
// and the same formula. It costs what there was, and works in slices, between which other requests have their turn.

import { fail, type Outcome } from '../../protocol/errors.ts'
import type { PackedVector } from '../../protocol/vectors.ts'
import { rfc3339 } from '../time.ts'
import type { World } from '../world.ts'
import { ranker } from './bm25.ts'
import { notExpired, timeOf } from './memories.ts'
import { dot } from './quantise.ts'
import { mostWithin, type Phrase, phrasesOf, type Words, wordsAsked } from './question.ts'
import { memoriesAt, type Places, wantedSql } from './read.ts'
import { type Ask, best, type Halves } from './recall.ts'
import type { Hit } from './text.ts'
import { exactVector, partsOf } from './upkeep.ts'
import { type AskedWord, wordsOf } from './words.ts'

const perSlice = 200

type Row = { key: string; text: string; model: string | null; data: PackedVector | null; wanted: number }

const listed: Places = { key: 'm.key', since: 'm.since', document: 'm.value', text: 'm.value' }

export async function searchPast(world: World, version: number, ask: Ask): Promise<Outcome<Halves>> {
  const wanted = wantedSql(ask.query, listed, 5)
  if (!wanted.ok) return wanted
  const release = world.hold(version)
  try {
    const now = rfc3339(timeOf(world, version, true))
    const words = ask.words === null ? null : new WordCount(ask.words)
    const near: Hit[] = []
    for (let after = ''; ; ) {
      const rows = world.sql
        .exec<Row>(
          // The parts and not the whole: most of a memory's text is its vector.
          `SELECT m.key, m.value ->> '$.text' AS text, m.value ->> '$.vector.model' AS model,
             m.value ->> '$.vector.data' AS data, ${notExpired('m.value', '?3')} AND ${wanted.sql} AS wanted
           FROM (${memoriesAt}) AS m WHERE m.key > ?2 AND ?5 IS NOT NULL AND m.value IS NOT NULL ORDER BY m.key LIMIT ?4`,
          version,
          after,
          now,
          perSlice,
          wanted.param,
        )
        .toArray()
      for (const row of rows) {
        words?.add(row.key, row.text, row.wanted === 1)
        if (row.wanted === 1 && ask.near !== null) {
          const exact = exactVector(ask.near.space, partsOf(row))
          if (exact !== null && exact.length === ask.near.unit.length)
            near.push({ key: row.key, score: dot(ask.near.unit, exact) })
        }
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < perSlice) break
      after = last.key
      await new Promise((resolve) => setTimeout(resolve))
      // The session may have ended meanwhile.
      if (world.state !== 'live') return world.closed() ?? fail('gone', 'the session was deleted')
    }
    return { ok: true, text: words?.best(ask.most) ?? [], vector: best(near, ask.most) }
  } finally {
    release()
  }
}

/** What the full-text index would know of one version, as far as one question asks. */
class WordCount {
  readonly #asked: AskedWord[]
  readonly #signs: string
  readonly #found: { key: string; length: number; times: Times }[] = []
  readonly #rows: Times = new Map()
  /** For each word asked, those around it. */
  readonly #around = new Map<string, Set<string>>()
  #documents = 0
  #length = 0

  constructor(query: string) {
    this.#asked = wordsAsked(query)
    this.#signs = this.#asked.length === 0 ? query.trim() : ''
  }

  add(key: string, text: string, wanted: boolean): void {
    const words = wordsOf(text)
    this.#documents++
    this.#length += words.length
    const times = this.#count(words)
    for (const phrase of times.keys()) bump(this.#rows, phrase)
    const some = times.size > 0 || (this.#signs !== '' && text.includes(this.#signs))
    if (some && wanted) this.#found.push({ key, length: words.length, times })
  }

  #count(words: readonly string[]): Times {
    const times: Times = new Map()
    for (const one of words) {
      let met = false
      for (const { word, open } of this.#asked) {
        if (one === word) met = true
        if (!open) continue
        if (one.startsWith(word)) bump(times, name({ word, how: 'beginning' }))
        else if (one.includes(word)) {
          met = true
          this.#around.set(word, (this.#around.get(word) ?? new Set()).add(one))
        }
      }
      if (met) bump(times, name({ word: one, how: 'whole' }))
    }
    return times
  }

  best(most: number): Hit[] {
    if (this.#signs !== '')
      return best(
        this.#found.map(({ key }) => ({ key, score: 1 })),
        most,
      )
    const words: Words = {
      rows: (phrase) => this.#rows.get(name(phrase)) ?? 0,
      within: (part) => [...(this.#around.get(part) ?? [])].sort(bytewise).slice(0, mostWithin),
    }
    const phrases = phrasesOf(this.#asked, words, this.#documents)
    const score = ranker(this.#documents, this.#length, phrases.map(words.rows))
    const hits: Hit[] = []
    for (const { key, length, times } of this.#found) {
      const counts = phrases.map((phrase) => times.get(name(phrase)) ?? 0)
      if (counts.some((n) => n > 0)) hits.push({ key, score: score({ length, hits: counts }) })
    }
    return best(hits, most)
  }
}

/** By the phrase's name. */
type Times = Map<string, number>

function name({ word, how }: Phrase): string {
  return how === 'whole' ? word : `${word}*`
}

function bump(times: Times, phrase: string): void {
  times.set(phrase, (times.get(phrase) ?? 0) + 1)
}

function bytewise(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
