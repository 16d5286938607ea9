// What bytes say of themselves, from how they begin: their type, and of images, sound, video and documents the measures by
// which they are looked for. Failing to read them is a note, never an error: the file is stored all the same.

import { fileTypeFromBuffer } from 'file-type/core'
import { imageSize } from 'image-size'
import { parseBuffer } from 'music-metadata'
import { mp4Measures } from './mp4.ts'

/** As a session keeps it beside a blob. */
export interface Described {
  type?: string
  meta?: Record<string, unknown>
}

/**
 * @param head the first bytes, `headBytes` of them or all there are
 * @param size bytes of the whole
 */
export async function describeBytes(head: Uint8Array, size: number): Promise<Described> {
  if (head.byteLength === 0) return {}
  const type = await typeFrom(head)
  if (type === undefined) return {}
  const meta = await metaFrom(type, head, size)
  return meta === null ? { type } : { type, meta }
}

async function typeFrom(head: Uint8Array): Promise<string | undefined> {
  try {
    const found = await fileTypeFromBuffer(head)
    if (found !== undefined) return found.mime
  } catch {
    // Cut off in the middle of what it looked at.
  }
  return isText(head) ? 'text/plain; charset=utf-8' : undefined
}

/** UTF-8 without control characters; the last character may be cut in half. */
function isText(head: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(head, { stream: true })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what tells text from other bytes
    return !/[\x00-\x08\x0e-\x1a\x1c-\x1f]/.test(text)
  } catch {
    return false
  }
}

async function metaFrom(
  type: string,
  head: Uint8Array,
  size: number,
): Promise<Record<string, unknown> | null> {
  try {
    if (type.startsWith('image/')) return imageMeta(head)
    if (type === 'video/mp4' || type === 'video/quicktime') {
      const measures = mp4Measures(head)
      return measures.duration === undefined ? unread('its beginning does not tell') : { ...measures }
    }
    if (/^(audio|video)\//.test(type)) return await soundMeta(type, head, size)
    if (type === 'application/pdf') return pdfMeta(head, size)
    return null
  } catch (error) {
    return unread(error instanceof Error ? error.message : 'unknown')
  }
}

function unread(why: string): Record<string, unknown> {
  return { note: `not read: ${why.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)}` }
}

function imageMeta(head: Uint8Array): Record<string, unknown> {
  const { width, height, orientation } = imageSize(head)
  return defined({ width, height, orientation })
}

async function soundMeta(type: string, head: Uint8Array, size: number): Promise<Record<string, unknown>> {
  const { format } = await parseBuffer(head, { mimeType: type, size }, { skipCovers: true })
  const { duration, sampleRate, numberOfChannels, codec, trackInfo = [] } = format
  const video = trackInfo.map((track) => track.video).find((one) => one !== undefined)
  const meta = defined({
    duration: duration === undefined ? undefined : Math.round(duration * 1000) / 1000,
    width: video?.pixelWidth,
    height: video?.pixelHeight,
    sample_rate: sampleRate,
    channels: numberOfChannels,
    codec,
  })
  return Object.keys(meta).length > 0 ? meta : unread('its beginning does not tell')
}

/** A file that is all here is counted; of a longer one only the linearised kind says it at its beginning. */
function pdfMeta(head: Uint8Array, size: number): Record<string, unknown> {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1')
  const linear = /\/Linearized\b[^>]*\/N (\d{1,7})\b/.exec(text)?.[1]
  if (linear !== undefined) return { pages: Number(linear) }
  const counts = [
    ...text.matchAll(
      /\/Type\s*\/Pages\b[^>]*?\/Count (\d{1,7})\b|\/Count (\d{1,7})\b[^>]*?\/Type\s*\/Pages\b/g,
    ),
  ]
  const pages = Math.max(0, ...counts.map((match) => Number(match[1] ?? match[2])))
  return pages > 0 && size <= head.byteLength ? { pages } : unread('its beginning does not tell the pages')
}

/** Only numbers and texts that JSON keeps: what a file says of itself is not to be trusted. */
function defined(values: Record<string, number | string | undefined>): Record<string, number | string> {
  const kept: Record<string, number | string> = {}
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER)
      kept[name] = value
    if (typeof value === 'string' && value.isWellFormed()) kept[name] = value.slice(0, 100)
  }
  return kept
}
