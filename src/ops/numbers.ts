import { COMMERCE_NUMBERS } from './commerce-numbers.ts'
import { CUSTOMER_NUMBERS } from './customer-numbers.ts'
import { INSIGHT_NUMBERS } from './insight-numbers.ts'
import { SEGMENT_NUMBERS } from './segment-numbers.ts'
import { STATS_NUMBERS } from './stats-numbers.ts'

/**
 * One statement for every number that an operation answers from models, for docs/models.md: `at` is where in the answer
 * the rows stand (`data[].months` are the months of all, one after the other), the columns are called like the fields.
 * A name with `$` stands for a value of the call.
 */
export interface Numbers {
  operation: string
  /** What the operation has to be asked, and what stands in its path in place of an id. */
  query?: string
  item?: string
  at: string
  sql: string
}

export const NUMBERS: readonly Numbers[] = [
  ...INSIGHT_NUMBERS,
  ...CUSTOMER_NUMBERS,
  ...COMMERCE_NUMBERS,
  ...SEGMENT_NUMBERS,
  ...STATS_NUMBERS,
]
