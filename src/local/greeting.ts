// What a person reads when the edge is up: where it is, the key if nobody has seen it yet, where the API
// is shown, and three commands that show in a minute what this is.

import { secretsPath } from './secrets.ts'

interface Subject {
  url: string
  key: string
  keyIsNew: boolean
  data: string
  /** The user brought the key. */
  keyIsGiven: boolean
}

export function greeting(edge: Subject): string {
  const shown = edge.keyIsNew || edge.keyIsGiven
  const demo = `${edge.url}/v1/sessions/demo`
  const auth = shown
    ? `-H 'Authorization: Bearer ${edge.key.replaceAll("'", "'\\''")}'`
    : `-H "Authorization: Bearer $LARES_KEY"`
  const json = `-H 'Content-Type: application/json'`
  return [
    `Lares is ready at ${edge.url}`,
    `Its API, for a browser: ${edge.url}/docs`,
    '',
    ...(edge.keyIsNew ? [`Root key, shown once: ${edge.key}`, ''] : []),
    shown ? 'Try:' : `Try, with LARES_KEY set to the root key (it is in ${secretsPath(edge.data)}):`,
    `  curl -X PUT ${demo} ${auth} ${json} -d '{}'`,
    `  curl -X POST ${demo}/log ${auth} ${json} -d '{"payload":{"text":"hello"}}'`,
    `  curl ${demo}/log ${auth}`,
    '',
  ].join('\n')
}
