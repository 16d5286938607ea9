// A file's name in a header, RFC 6266: any script, and nothing that could end the header or the quotes.

/** @example contentDisposition('a/é".md') // attachment; filename="_.md"; filename*=UTF-8''%C3%A9%22.md */
export function contentDisposition(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const plain = name.replace(/[^ !#$&+\-.0-9A-Z^_`a-z{}~()@,;=[\]]/g, '_')
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
