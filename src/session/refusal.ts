// How an operation stops the commit it is part of.

import { type ErrorCode, type ErrorHints, type Failure, fail } from '../protocol/errors.ts'

/** Stops a commit: everything it did is undone. */
export class Refusal extends Error {
  readonly failure: Failure
  constructor(code: ErrorCode, detail: string, hints: ErrorHints = {}) {
    super(detail)
    this.failure = fail(code, detail, hints)
  }
}
