import * as v from 'valibot'
import { amount, hundredthsOf, sum } from '../connect/store/money.ts'
import { count, money, named } from '../fields.ts'
import { currencyOf } from '../model/as-of.ts'
import type { Reader } from '../op.ts'

/** Lifetime value of a brand, as both hosts show it. */

const LtvBucket = named('LtvBucket', {
  label: v.string(),
  min: v.number(),
  max: v.nullable(v.number()),
  customer_count: count,
})

export const BRAND_LTV = {
  total_revenue: money,
  customer_count: count,
  average_ltv: money,
  currency_code: v.nullable(v.string()),
  distribution: v.array(LtvBucket),
}

interface BucketRow {
  bucket: string
  at_least: number
  less_than: number | null
  customer_count: number
  revenue: string
}

const ZERO = '0.00'

/** Halves of a cent go away from zero. */
export function averageOf(total: string, of: number): string {
  if (of === 0) return ZERO
  const [cents, parts] = [hundredthsOf(total), BigInt(of)]
  const whole = ((cents < 0n ? -cents : cents) * 2n + parts) / (parts * 2n)
  return amount(cents < 0n ? -whole : whole)
}

export async function brandValueOf(marts: Reader) {
  const rows = await marts.rows<BucketRow>('from ltv_buckets order by at_least')
  const total = sum(rows.map(({ revenue }) => revenue))
  const customers = rows.reduce((all, { customer_count }) => all + customer_count, 0)
  return {
    total_revenue: total,
    customer_count: customers,
    average_ltv: averageOf(total, customers),
    currency_code: customers === 0 ? null : await currencyOf(marts),
    distribution: rows.map(({ bucket, at_least, less_than, customer_count }) => ({
      label: bucket,
      min: at_least,
      max: less_than,
      customer_count,
    })),
  }
}
