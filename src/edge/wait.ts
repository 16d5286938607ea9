// Waiting for the next commit: a tail like any other, so that the object may sleep while nobody writes.

import type { Visit } from './door.ts'
import { openTail } from './tail-socket.ts'

/**
 * Waits until the session has a version after `seen`.
 *
 * @param left milliseconds to wait at most
 * @returns false when the time is up, or the tail ended
 */
export async function nextCommit(visit: Visit, seen: number, left: number): Promise<boolean> {
  const response = await openTail(visit, seen)
  const socket = response.webSocket
  if (!socket) return false
  socket.accept()
  try {
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), left)
      const settle = (result: boolean) => {
        clearTimeout(timer)
        resolve(result)
      }
      socket.addEventListener('message', () => settle(true))
      socket.addEventListener('close', () => settle(false))
      socket.addEventListener('error', () => settle(false))
    })
  } finally {
    socket.close(1000)
  }
}
