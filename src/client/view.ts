// A world as it was: `session.at(…)`. It can only be read, and what it says at a version never changes.

import { FilesReader } from './files.ts'
import { LogReader } from './log.ts'
import type { At } from './paths.ts'
import type { Scope } from './scope.ts'
import { StateReader } from './state.ts'

export class View {
  /** The point asked for. */
  readonly at: At
  readonly log: LogReader
  readonly state: StateReader
  readonly files: FilesReader

  constructor(scope: Scope, at: At) {
    const then = scope.with({ at })
    this.at = at
    this.log = new LogReader(then)
    this.state = new StateReader(then)
    this.files = new FilesReader(then)
  }
}
