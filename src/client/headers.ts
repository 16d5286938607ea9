// Numbers that stand in headers.

/** A whole number, or undefined when the header is absent or something else. */
export function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)
  return text === null || !/^\d+$/.test(text) ? undefined : Number(text)
}

/** Seconds of a `Retry-After`, which is a number of seconds or an HTTP date. */
export function retryAfter(headers: Headers, now = Date.now()): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}
