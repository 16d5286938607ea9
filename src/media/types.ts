// Which media type a file has, from what its bytes say and what its name says. Pure.

import mime from 'mime/lite'

const text = 'text/plain; charset=utf-8'

/**
 * The type to serve a file under when none was given.
 *
 * @param told what the bytes say, as `describeBytes` found it
 */
export function typeOf(told: string | undefined, path: string): string | undefined {
  // Bytes that begin as nothing else does are that, whatever they are called.
  if (told !== undefined && told !== text && !isContainer(told)) return told
  const named = mime.getType(path)
  if (named === null) return told
  if (told !== text) return named.startsWith('text/') && told === undefined ? undefined : named
  // `.ts` is a video to some; text it is not, then.
  if (named.startsWith('text/')) return `${named}; charset=utf-8`
  return isTextual(named) ? named : text
}

/** Formats that many others are made of. */
function isContainer(type: string): boolean {
  return ['application/zip', 'application/xml', 'application/x-cfb', 'application/gzip'].includes(type)
}

function isTextual(type: string): boolean {
  return /^application\/(json|.*\+json|xml|.*\+xml|javascript|yaml|toml|sql|x-sh|rtf)$|^image\/svg\+xml$/.test(
    type,
  )
}

/** Types of which the bytes are expected to tell more: width, height, duration, pages. */
export function isDescribable(type: string): boolean {
  return /^(image|audio|video)\//.test(type) ? !type.startsWith('image/svg') : type === 'application/pdf'
}
