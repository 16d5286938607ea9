// Width, height and duration of an MP4 or QuickTime file, from its `moov` box when that lies at the beginning. The library
// for sound tells nothing of pictures. ISO/IEC 14496-12, sections 8.2 and 8.3. Pure.

export interface Mp4Measures {
  width?: number
  height?: number
  /** Seconds. */
  duration?: number
}

export function mp4Measures(head: Uint8Array): Mp4Measures {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  const measures: Mp4Measures = {}
  for (const moov of boxes(view, 0, view.byteLength, 'moov')) {
    for (const mvhd of boxes(view, moov.start, moov.end, 'mvhd')) {
      const [scale, length] = view.getUint8(mvhd.start) === 1 ? [20, 24] : [12, 16]
      const ticks =
        length === 24 ? Number(view.getBigUint64(mvhd.start + 24)) : view.getUint32(mvhd.start + 16)
      const timescale = view.getUint32(mvhd.start + scale)
      if (timescale > 0) measures.duration = Math.round((ticks / timescale) * 1000) / 1000
    }
    for (const trak of boxes(view, moov.start, moov.end, 'trak')) {
      for (const tkhd of boxes(view, trak.start, trak.end, 'tkhd')) {
        // 16.16 fixed point, the last two fields; a sound track has zeros there.
        const width = view.getUint32(tkhd.end - 8) >>> 16
        const height = view.getUint32(tkhd.end - 4) >>> 16
        if (width > 0 && height > 0) Object.assign(measures, { width, height })
      }
    }
  }
  return measures
}

interface Box {
  start: number
  end: number
}

/** Boxes of one type within a stretch; those that are cut off are passed over. */
function* boxes(view: DataView, from: number, to: number, type: string): Generator<Box> {
  for (let at = from; at + 8 <= to; ) {
    const short = view.getUint32(at)
    const large = short === 1 && at + 16 <= to
    const size = large ? Number(view.getBigUint64(at + 8)) : short === 0 ? to - at : short
    if (size < 8 || at + size > to) return
    const name = String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + at + 4, 4))
    if (name === type) yield { start: at + (large ? 16 : 8), end: at + size }
    at += size
  }
}
