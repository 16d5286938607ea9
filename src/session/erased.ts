// What is left of an erased value: its digest, so that every chain and page still verifies, and nothing to guess it back by. A
// row without salt is an erased one.

import { type Failure, fail } from '../protocol/errors.ts'

export function isErased({ salt }: { salt: ArrayBuffer }): boolean {
  return salt.byteLength === 0
}

/** Why a row has no value to show. */
export function noValue(row: { salt: ArrayBuffer }, ref: string): Failure {
  return isErased(row) ? fail('gone', `${ref} was erased`) : fail('corrupt', `${ref} does not read back`)
}

/** What a list says of a row that has no value to show. */
export function noValueMark(row: { salt: ArrayBuffer }): string {
  return isErased(row) ? ',"erased":true' : ',"corrupt":true'
}
