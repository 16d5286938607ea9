// A tail's messages as server-sent events. A reader that falls too far behind is let go: it comes back with the last id it
// saw and misses nothing.

const pingMs = 15_000
/** What may wait for a slow reader, in characters. */
const mostQueued = 8 * 1024 * 1024

/** @param expiresAt epoch milliseconds at which the credential runs out, or null */
export function eventStream(socket: WebSocket | null, expiresAt: number | null): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let ping: ReturnType<typeof setInterval> | undefined
  let end: ReturnType<typeof setTimeout> | undefined
  let over = false
  const stop = () => {
    over = true
    clearInterval(ping)
    clearTimeout(end)
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (!socket) return controller.close()
        const finish = () => {
          stop()
          try {
            controller.close()
          } catch {
            // Closed already, by the other end.
          }
        }
        const send = (text: string) => {
          // What was on its way when the stream ended.
          if (over) return
          if ((controller.desiredSize ?? 0) < -mostQueued) {
            socket.close(1000, 'too slow')
            return finish()
          }
          controller.enqueue(encoder.encode(text))
        }
        socket.addEventListener('message', ({ data }) => {
          if (typeof data === 'string') send(asEvent(data))
        })
        socket.addEventListener('close', finish)
        socket.addEventListener('error', finish)
        socket.accept()
        // At once, so that the reader knows it is connected.
        send(': ready\n\n')
        ping = setInterval(() => send(': ping\n\n'), pingMs)
        if (expiresAt !== null) {
          end = setTimeout(
            () => {
              socket.close(1000, 'expired')
              finish()
            },
            Math.min(Math.max(0, expiresAt - Date.now()), 2 ** 31 - 1),
          )
        }
      },
      cancel() {
        stop()
        socket?.close(1000)
      },
    },
    { highWaterMark: 0, size: (chunk) => chunk?.byteLength ?? 0 },
  )
}

/** `{"event":E,"id":N,"data":{…}}`, which the object writes in just this order, as an event of the same parts. */
function asEvent(message: string): string {
  const match = /^\{"event":"(\w+)","id":(\d+),"data":/.exec(message)
  if (!match) return `event: error\ndata: ${message}\n\n`
  // JSON text holds no line breaks, so it is one `data` line.
  return `id: ${match[2]}\nevent: ${match[1]}\ndata: ${message.slice(match[0].length, -1)}\n\n`
}
