// The flags of `npm start`. Strict: a flag that is silently ignored is a wrong setting that nobody notices.

import { parseArgs } from 'node:util'
import { LocalError } from './errors.ts'

export interface Args {
  port: number
  host: string
  data: string
  key?: string
  help: boolean
}

export const USAGE = `Usage: npm start -- [--port 8787] [--host 127.0.0.1] [--data .lares] [--key KEY]

  --port  where to listen; 0 takes any free port
  --host  which address to listen on; 0.0.0.0 is all of them
  --data  the folder that keeps everything
  --key   the root key for this start; without it, one is made at the first start and remembered
`

export function readArgs(argv: string[]): Args {
  const { port, host, data, key, help } = parse(argv)
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new LocalError('--key takes printable ASCII without spaces.')
  }
  if (host === '' || data === '') throw new LocalError('--host and --data take a value.')
  return { port: readPort(port), host, data, help, ...(key === undefined ? {} : { key }) }
}

function parse(argv: string[]) {
  try {
    const { values } = parseArgs({
      args: argv,
      allowPositionals: false,
      options: {
        port: { type: 'string', default: '8787' },
        host: { type: 'string', default: '127.0.0.1' },
        data: { type: 'string', default: '.lares' },
        key: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    return values
  } catch (error) {
    throw new LocalError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
  }
}

function readPort(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new LocalError(`--port takes 0 to 65535, not "${text}".`)
  return port
}
