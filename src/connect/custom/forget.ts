import type { Statements } from '../../op.ts'
import { sliceBySlice } from '../../store/slices.ts'

/** Much longer than a sender goes on to send a delivery again: those of large platforms give up after days. */
const DELIVERY_DAYS = 90

/** Forgets event ids that were accepted so long ago that they are not sent again. */
export const forgetDeliveries = (pipeline: Statements): Promise<number> =>
  sliceBySlice((most) => pipeline.run('custom_deliveries_forget', [DELIVERY_DAYS, most]))

/** As long as the history of a segment: whoever has not replayed one until then never will. */
const LETTER_DAYS = 180

/** Forgets dead letters, those that were stored meanwhile as well. */
export const forgetDeadLetters = (pipeline: Statements): Promise<number> =>
  sliceBySlice((most) => pipeline.run('dead_letters_forget', [LETTER_DAYS, most]))

/** Forgets secrets that were replaced, once they are taken no more. */
export const forgetFormerSecrets = (pipeline: Statements): Promise<number> =>
  pipeline.run('former_secrets_forget')
