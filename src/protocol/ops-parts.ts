// What operations of every kind have in common: their condition and their inputs.

import { z } from 'zod'
import { limits } from './limits.ts'
import { ref, version } from './values.ts'

export const from = z.array(ref).max(limits.from).optional().meta({ description: 'What this was made from' })

export const condition = z
  .union([z.strictObject({ version }), z.strictObject({ absent: z.literal(true) })])
  .optional()
  .meta({ description: 'Holds when the entry was written by that version, or is absent' })
