// Recall by words, at the head: BM25 over the full-text index, over what the filter leaves.

import type { World } from '../world.ts'
import { mostWithin, type Phrase, phrasesOf, type Words, wordsAsked } from './question.ts'

// A type and not an interface: only a type fits the index signature that rows have.
export type Hit = { key: string; score: number }

/** A condition on `d`, a row of memory_docs, whose values are in parameter 1. */
export interface Condition {
  sql: string
  param: string
}

export function searchText(world: World, query: string, most: number, condition: Condition | null): Hit[] {
  const { sql, head } = world
  const asked = wordsAsked(query)
  if (asked.length === 0) return query.trim() === '' ? [] : literally(world, query.trim(), most, condition)
  const words: Words = {
    rows: (phrase) => rowsWith(sql, phrase),
    within: (part) => termsWith(sql, part),
  }
  const expression = phrasesOf(asked, words, head.counts.memories).map(expressionOf).join(' OR ')
  if (expression === '') return []
  return condition === null ? ranked(sql, expression, most) : rankedWhere(sql, expression, most, condition)
}

function ranked(sql: SqlStorage, expression: string, most: number): Hit[] {
  return sql
    .exec<Hit>(
      `SELECT d.key, w.score FROM (
         SELECT rowid AS doc, -rank AS score FROM memory_words WHERE memory_words MATCH ?1 ORDER BY rank, rowid LIMIT ?2) AS w
       JOIN memory_docs AS d ON d.doc = w.doc ORDER BY w.score DESC, d.key`,
      expression,
      most,
    )
    .toArray()
}

function rankedWhere(sql: SqlStorage, expression: string, most: number, condition: Condition): Hit[] {
  return sql
    .exec<Hit>(
      `SELECT d.key, -w.rank AS score FROM memory_words AS w JOIN memory_docs AS d ON d.doc = w.rowid
       WHERE w.memory_words MATCH ?2 AND ${condition.sql} ORDER BY w.rank, d.key LIMIT ?3`,
      condition.param,
      expression,
      most,
    )
    .toArray()
}

function expressionOf({ word, how }: Phrase): string {
  return how === 'whole' ? `"${word}"` : `"${word}"*`
}

function rowsWith(sql: SqlStorage, phrase: Phrase): number {
  return sql
    .exec<{ n: number }>(
      'SELECT count(*) AS n FROM memory_words WHERE memory_words MATCH ?',
      expressionOf(phrase),
    )
    .one().n
}

/** Words of the index that have this in their middle. A look at all of them, so only for what begins none. */
function termsWith(sql: SqlStorage, part: string): string[] {
  return sql
    .exec<{ term: string }>(
      'SELECT term FROM memory_vocabulary WHERE instr(term, ?) > 1 LIMIT ?',
      part,
      mostWithin,
    )
    .toArray()
    .map(({ term }) => term)
}

/** Signs alone are no words, but may stand in a text all the same. */
function literally({ sql }: World, signs: string, most: number, condition: Condition | null): Hit[] {
  return sql
    .exec<Hit>(
      `SELECT d.key, 1.0 AS score FROM memory_docs AS d JOIN entries AS e ON e.kind = 'memory' AND e.key = d.key
       WHERE ?1 IS NOT NULL AND instr(e.value ->> '$.text', ?2) > 0 ${condition === null ? '' : `AND ${condition.sql}`}
       ORDER BY d.key LIMIT ?3`,
      condition?.param ?? '',
      signs,
      most,
    )
    .toArray()
}
