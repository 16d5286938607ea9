// How text becomes words, for the index and for what is asked of it. A script without spaces becomes single characters and
// pairs of them, so that a word of two is found; an identifier becomes itself and its parts. Pure.

/** The words of a text, as the index counts them. */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  // ASCII has no marks, no scripts and one form: most text takes the short way.
  const runs = isAscii(text)
    ? text.match(/[A-Za-z0-9_]+/g)
    : text.normalize('NFKC').match(/[\p{L}\p{N}\p{M}_]+/gu)
  for (const run of runs ?? []) addRun(words, run)
  return words
}

export interface AskedWord {
  word: string
  /** Whether the beginning of a longer word will do. */
  open: boolean
}

/** The words that a question asks for, once each. A plural asks for its singular too. */
export function askedWords(query: string, most: number): AskedWord[] {
  const asked = new Map<string, AskedWord>()
  for (const word of wordsOf(query)) {
    const open = word.length >= 3 && !unspaced.test(word)
    asked.set(word, { word, open })
    if (open && /^[a-z]{4,}[^s]s$/.test(word)) asked.set(word.slice(0, -1), { word: word.slice(0, -1), open })
    if (asked.size >= most) break
  }
  return [...asked.values()]
}

/** Longer ones are no words; what they begin with still finds them. */
const longest = 64

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const unspacedRuns =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}ー々]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu

function addRun(words: string[], run: string): void {
  if (!isAscii(run) && unspaced.test(run)) {
    for (const part of run.match(unspacedRuns) ?? []) {
      if (unspaced.test(part)) addPairs(words, part)
      else addIdentifier(words, part)
    }
  } else addIdentifier(words, run)
}

function addPairs(words: string[], run: string): void {
  const characters = [...run.toLowerCase()]
  for (const [i, character] of characters.entries()) {
    words.push(character)
    const next = characters[i + 1]
    if (next !== undefined) words.push(character + next)
  }
}

/** `getUserName`, `get_user_name`, `HTTPServer2`: the whole without underscores, and its parts. */
function addIdentifier(words: string[], run: string): void {
  const parts =
    run.match(/\p{Lu}+(?!\p{Ll})\p{M}*|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}]+|\p{N}+|\p{Lu}/gu) ?? []
  const whole = run.replaceAll('_', '')
  if (whole !== '') words.push(folded(whole))
  if (parts.length > 1) for (const part of parts) words.push(folded(part))
}

/** Without case and accents. */
function folded(word: string): string {
  const plain = isAscii(word)
    ? word
    : word
        .normalize('NFKD')
        .replace(/[\u0300-\u036f]/g, '')
        .normalize('NFC')
  return plain.toLowerCase().slice(0, longest).toWellFormed()
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
  return /^[\x00-\x7f]*$/.test(text)
}
