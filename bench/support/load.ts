// The load generator: keep-alive connections, one request at a time on each, as light on the processor as Node allows,
// because it shares the machine with what it measures.

import { Pool } from 'undici'
import { processorTime } from './processor.ts'

export interface Call {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  body?: string
}

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

export class Connections {
  readonly #pool: Pool
  readonly #headers: Record<string, string>
  readonly #count: number
  readonly #pid: number

  constructor(url: string, count: number, pid: number, key?: string) {
    this.#pid = pid
    this.#pool = new Pool(url, { connections: count, pipelining: 1 })
    this.#count = count
    this.#headers = {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    }
  }

  /** Requests a second, all connections busy for a time. */
  async throughput(seconds: number, next: () => Call): Promise<number> {
    const start = performance.now()
    const end = start + seconds * 1000
    let done = 0
    await this.#each(async () => {
      while (performance.now() < end) {
        await this.#swift(next())
        done++
      }
    })
    return (done / (performance.now() - start)) * 1000
  }

  /** Milliseconds that the other side's runtime has worked so far; null where that can't be told. */
  processorTime(): number | null {
    return processorTime(this.#pid)
  }

  /** Milliseconds that a number of requests took, shared by all connections. */
  async time(calls: number, next: () => Call): Promise<number> {
    const start = performance.now()
    let begun = 0
    await this.#each(async () => {
      while (begun++ < calls) await this.#swift(next())
    })
    return performance.now() - start
  }

  /** Milliseconds of each of a number of requests, one after the other. */
  async latencies(calls: number, next: () => Call): Promise<number[]> {
    const times: number[] = []
    for (let i = 0; i < calls; i++) {
      const start = performance.now()
      await this.#swift(next())
      times.push(performance.now() - start)
    }
    return times
  }

  /** One request, with its answer. */
  async ask(call: Call, headers: Record<string, string> = {}): Promise<Answer> {
    const {
      statusCode,
      headers: answered,
      body,
    } = await this.#pool.request({
      ...call,
      headers: { ...this.#headers, ...headers },
    })
    const answer = { status: statusCode, headers: answered, text: await body.text() }
    if (statusCode >= 400) throw failed(call, statusCode, answer.text)
    return answer
  }

  async close(): Promise<void> {
    await this.#pool.close()
  }

  async #each(work: () => Promise<void>): Promise<void> {
    await Promise.all(Array.from({ length: this.#count }, work))
  }

  /** Without the response objects and streams that `request` makes. */
  #swift(call: Call): Promise<void> {
    return new Promise((resolve, reject) => {
      let status = 0
      this.#pool.dispatch(
        { ...call, headers: this.#headers },
        {
          // undici asks for these two to know which kind of handler this is.
          onRequestStart() {},
          onResponseData() {},
          onResponseStart(_controller, statusCode) {
            status = statusCode
          },
          onResponseEnd() {
            if (status < 400) resolve()
            else reject(failed(call, status))
          },
          onResponseError(_controller, error) {
            reject(error)
          },
        },
      )
    })
  }
}

function failed({ method, path }: Call, status: number, text = ''): Error {
  return new Error(`${method} ${path} answered ${status} ${text.slice(0, 500)}`)
}
