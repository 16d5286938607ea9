// Every operation there is, by name. A new kind is one new file and one line here.

import type { WireOperation } from '../rpc.ts'
import { fileHandlers } from './file.ts'
import type { Handler, Handlers } from './kind.ts'
import { logHandlers } from './log.ts'
import { memoryHandlers } from './memory.ts'
import { rowHandlers } from './row.ts'
import { stateHandlers } from './state.ts'
import { tableHandlers } from './table.ts'
import { viewHandlers } from './view.ts'

const handlers: Handlers<WireOperation['op']> = {
  ...logHandlers,
  ...stateHandlers,
  ...fileHandlers,
  ...tableHandlers,
  ...rowHandlers,
  ...viewHandlers,
  ...memoryHandlers,
}

export function handlerOf(op: WireOperation): Handler<WireOperation> {
  // The table's type ties each name to the handler of just that operation; a look-up by name loses the tie.
  return handlers[op.op] as Handler<WireOperation>
}
