// Which columns of an answer are a bool column read directly. SQLite has no such type: it answers 1 and 0, which would come out
// as numbers. Only what is plain from the statement's own words is taken for one: a column of a relation, selected as it is.

import type { Relation } from './relations.ts'
import { isSymbol, isWord, type Token } from './tokens.ts'

/** A relation of the FROM clause, under the name by which its columns are called; null columns where they are not known. */
interface Source {
  name: string
  columns: readonly { name: string; type: string }[] | null
}

const ends = ['where', 'group', 'having', 'window', 'order', 'limit', 'union', 'intersect', 'except']
const joins = ['join', 'left', 'right', 'full', 'inner', 'outer', 'cross', 'natural', 'on', 'using']

/**
 * For each column of the answer, whether it is a bool column.
 *
 * @param count how many columns the answer has; where the words say otherwise, none is taken for one
 */
export function boolColumns(tokens: readonly Token[], used: readonly Relation[], count: number): boolean[] {
  const none = new Array<boolean>(count).fill(false)
  const flat = flattened(tokens)
  const start = flat.findIndex(({ token }) => isWord(token, 'select'))
  const isCompound = flat.some(({ token }) =>
    isWord(token, 'union', 'intersect', 'except', 'natural', 'using'),
  )
  if (start === -1 || isCompound || flat.slice(start + 1).some(({ token }) => isWord(token, 'select')))
    return none
  const from = flat.findIndex(({ token }, i) => i > start && isWord(token, 'from'))
  if (from === -1) return none
  const end = flat.findIndex(({ token }, i) => i > from && isWord(token, ...ends))
  const defined = new Set(flat.slice(0, start).flatMap(({ token }) => nameOf(token) ?? []))
  const known = used.filter(({ name }) => !defined.has(name.toLowerCase()))
  const sources = readSources(flat.slice(from + 1, end === -1 ? undefined : end), known)
  const first = isWord(flat[start + 1]?.token, 'distinct', 'all') ? start + 2 : start + 1
  const found: boolean[] = []
  for (const item of split(flat.slice(first, from))) {
    const bools = itemBools(item, sources)
    if (bools === null) return none
    found.push(...bools)
  }
  return found.length === count ? found : none
}

/** A token outside all brackets; a whole bracket is one of them, without a token. */
type Flat = { token: Token | undefined }

function flattened(tokens: readonly Token[]): Flat[] {
  const flat: Flat[] = []
  let depth = 0
  for (const token of tokens) {
    if (isSymbol(token, '(') && depth++ === 0) flat.push({ token: undefined })
    else if (isSymbol(token, ')')) depth--
    else if (depth === 0) flat.push({ token })
  }
  return flat
}

function split(flat: readonly Flat[]): Flat[][] {
  const parts: Flat[][] = [[]]
  for (const one of flat) {
    if (isSymbol(one.token, ',')) parts.push([])
    else parts.at(-1)?.push(one)
  }
  return parts
}

function nameOf(token: Token | undefined): string | null {
  return token?.is === 'word' || token?.is === 'quoted' ? token.text.toLowerCase() : null
}

function readSources(flat: readonly Flat[], known: readonly Relation[]): Source[] {
  const sources: Source[] = []
  // At the beginning and after a comma or JOIN stands a relation; what follows ON is none.
  let expected = true
  for (let i = 0; i < flat.length; i++) {
    const token = flat[i]?.token
    if (isSymbol(token, ',') || isWord(token, 'join')) expected = true
    else if (expected) {
      expected = false
      let next = i + 1
      if (flat[next]?.token === undefined && next < flat.length) next++
      const columns =
        next > i + 1
          ? null
          : (known.find(({ name }) => name.toLowerCase() === nameOf(token))?.columns ?? null)
      if (isWord(flat[next]?.token, 'as')) next++
      const alias = nameOf(flat[next]?.token)
      const isAlias = alias !== null && !(flat[next]?.token?.is === 'word' && joins.includes(alias))
      sources.push({ name: isAlias ? alias : (nameOf(token) ?? ''), columns })
    }
  }
  return sources
}

/** Of the columns an item gives, which are bool; null where they cannot be counted. */
function itemBools(item: readonly Flat[], sources: readonly Source[]): boolean[] | null {
  const tokens = item.map(({ token }) => token)
  const [a, dot, b] = tokens
  if (isSymbol(a, '*')) return allOf(sources)
  if (isSymbol(dot, '.') && isSymbol(b, '*')) return allOf(sources.filter(({ name }) => name === nameOf(a)))
  const qualified = isSymbol(dot, '.')
  const rest = tokens.slice(qualified ? 3 : 1)
  const renamed = isWord(rest[0], 'as') ? rest.slice(1) : rest
  const isPlain = renamed.length === 0 || (renamed.length === 1 && nameOf(renamed[0]) !== null)
  const column = nameOf(qualified ? b : a)
  if (!isPlain || column === null) return [false]
  const among = qualified ? sources.filter(({ name }) => name === nameOf(a)) : sources
  if (among.some(({ columns }) => columns === null)) return [false]
  const holders = among.flatMap(
    ({ columns }) => columns?.filter(({ name }) => name.toLowerCase() === column) ?? [],
  )
  return [holders.length === 1 && holders[0]?.type === 'bool']
}

function allOf(sources: readonly Source[]): boolean[] | null {
  if (sources.length === 0 || sources.some(({ columns }) => columns === null)) return null
  return sources.flatMap(({ columns }) => columns?.map(({ type }) => type === 'bool') ?? [])
}
