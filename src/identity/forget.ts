import type { Statements } from '../op.ts'
import { sliceBySlice } from '../store/slices.ts'

/** As long as a browser keeps the id of its visitor (13 months): nobody comes back as that visitor later. */
const CLAIM_DAYS = 400

/** Forgets who visitors said they were, where nobody turned out to be that person. */
export const forgetClaims = (pipeline: Statements): Promise<number> =>
  sliceBySlice((most) => pipeline.run('visitor_claims_forget', [CLAIM_DAYS, most]))
