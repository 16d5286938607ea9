// What a text asks of the index, as phrases: a word as it stands, and the beginnings of longer words. What was typed never
// reaches the index's own query language: each phrase is a word in quotes, and words hold no quotes. Pure.

import { type AskedWord, askedWords } from './words.ts'

export type Phrase = { word: string; how: 'whole' | 'beginning' }

/** What phrases are chosen by. */
export interface Words {
  /** How many documents a phrase occurs in. */
  rows(phrase: Phrase): number
  /** Words that have this in them, but not at their beginning; at most `mostWithin`, in bytewise order. */
  within(part: string): string[]
}

export const mostWithin = 16

const mostWords = 64
const mostAsked = 24
/** Words of one question that are looked for within others: each is a look at all the words there are. */
const mostLooks = 3

export function wordsAsked(query: string): AskedWord[] {
  return askedWords(query, mostWords)
}

/**
 * The phrases worth asking for. A word of which nothing begins is looked for within others. A word that most documents have
 * tells them apart by nothing and costs the most, so it stays out while another has been found.
 */
export function phrasesOf(asked: readonly AskedWord[], words: Words, documents: number): Phrase[] {
  const found: { phrases: Phrase[]; rows: number }[] = []
  let looks = 0
  for (const { word, open } of asked) {
    const rows = words.rows({ word, how: open ? 'beginning' : 'whole' })
    if (rows > 0) found.push({ phrases: phrases(word, open), rows })
    else if (open && looks++ < mostLooks) {
      const around = words.within(word).map((word): Phrase => ({ word, how: 'whole' }))
      if (around.length > 0) found.push({ phrases: around, rows: 1 })
    }
  }
  const telling = found.filter(({ rows }) => rows <= documents / 2)
  const kept = telling.length > 0 ? telling : found
  const chosen = kept
    .sort((one, other) => one.rows - other.rows)
    .slice(0, mostAsked)
    .flatMap(({ phrases }) => phrases)
  // Two words may lie within the same one.
  return [...new Map(chosen.map((phrase) => [`${phrase.how} ${phrase.word}`, phrase])).values()]
}

function phrases(word: string, open: boolean): Phrase[] {
  const whole: Phrase = { word, how: 'whole' }
  // As two phrases, so that the word itself counts for more than one that it begins.
  return open ? [whole, { word, how: 'beginning' }] : [whole]
}
