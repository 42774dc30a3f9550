import { v7 } from 'uuid'
import { amountOf } from '../connect/store/money.ts'
import { fail, isUniqueViolation } from '../errors.ts'
import { isBlank } from '../fields.ts'
import type { Db, Statements } from '../op.ts'

export const DISCOUNT_TYPES = ['percentage', 'fixed_amount', 'free_shipping'] as const
export const MINIMUM_TYPES = ['amount', 'quantity'] as const

/** A saved discount. With a code of its own it gives everybody that; else each contact one that begins with `prefix`. */
export interface Discount {
  id: string
  name: string
  type: (typeof DISCOUNT_TYPES)[number]
  /** Percent or amount as a decimal string; null for free shipping. */
  value: string | null
  code: string | null
  prefix: string | null
  minimum_type: (typeof MINIMUM_TYPES)[number] | null
  minimum_value: string | null
  duration_days: number | null
  created_at: Date
}

export type NewDiscount = Omit<Discount, 'id' | 'created_at'>

const NAME_LENGTH = 200
const CODE = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
const PREFIX = /^[A-Z0-9]{1,16}$/
const MOST_PERCENT = 100
export const MOST_DAYS = 365

/** Fails with not_found, also for one that was removed. */
export const discountById = (db: Pick<Statements, 'one'>, id: string): Promise<Discount> =>
  db.one<Discount>('discount_by_id', [id, false])

/** As a version of a campaign offers it: who was started with that gets it also when it was removed since. */
export const offeredDiscount = (db: Pick<Statements, 'one'>, id: string): Promise<Discount> =>
  db.one<Discount>('discount_by_id', [id, true])

/** Whether campaigns can offer it: until the transaction ends it is not removed then. */
export const keepsDiscount = async (tx: Pick<Statements, 'many'>, id: string): Promise<boolean> =>
  (await tx.many('discount_keep', [id])).length > 0

/** The newest first, of those older than `after`. */
export const discounts = (
  db: Pick<Statements, 'many'>,
  { after = null, limit = null }: { after?: string | null; limit?: number | null } = {},
): Promise<Discount[]> => db.many<Discount>('discounts_page', [after, limit])

/** Saves a discount. Fails with bad_request, and with conflict when its name is taken. */
export async function addDiscount(db: Db, given: NewDiscount): Promise<Discount> {
  const id = v7()
  const name = given.name.trim()
  const value = given.value === null ? null : exactAmount(given.value)
  const minimum = given.minimum_value === null ? null : exactAmount(given.minimum_value)
  const discount = { ...given, name, value, minimum_value: minimum }
  check(discount, given)
  const { type, code, prefix, minimum_type, duration_days } = discount
  try {
    await db.run('discount_insert', [
      ...[id, name, type, value, code, prefix, minimum_type, minimum, duration_days],
    ])
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw fail('conflict', `A discount is named "${name}" already.`, { cause: error })
  }
  return await discountById(db, id)
}

/** Null also for one that would be rounded: nobody gets another discount than the one that was typed. */
const exactAmount = (text: string) => (/^\d+(\.\d{1,2}0*)?$/.test(text) ? amountOf(text) : null)

function check({ name, type, value, ...rest }: NewDiscount, given: NewDiscount): void {
  const refuse = (problem: string) => fail('bad_request', problem)
  if (isBlank(name) || [...name].length > NAME_LENGTH)
    throw refuse(`name must be 1 to ${NAME_LENGTH} characters`)
  if (type === 'free_shipping') {
    if (given.value !== null) throw refuse('value is not for free_shipping')
  } else if (value === null || Number(value) <= 0)
    throw refuse('value must be an amount above 0 with at most two decimals, such as 10')
  if (type === 'percentage' && Number(value) > MOST_PERCENT)
    throw refuse(`value must be at most ${MOST_PERCENT} percent`)
  const { code, prefix, minimum_type, minimum_value, duration_days } = rest
  if (code !== null && !CODE.test(code))
    throw refuse('code must be 1 to 64 letters, digits, hyphens and underscores')
  if (code !== null && (prefix !== null || duration_days !== null))
    throw refuse('code is what everybody gets: prefix and duration_days are for a code per contact')
  if (prefix !== null && !PREFIX.test(prefix))
    throw refuse('prefix must be 1 to 16 capital letters and digits')
  if ((minimum_type === null) !== (given.minimum_value === null))
    throw refuse('minimum must have a type and a value')
  if (minimum_type !== null && (minimum_value === null || Number(minimum_value) <= 0))
    throw refuse('minimum.value must be an amount with at most two decimals, or a quantity, above 0')
  if (minimum_type === 'quantity' && !minimum_value?.endsWith('.00'))
    throw refuse('minimum.value must be a whole quantity')
  if (duration_days !== null && !(duration_days >= 1 && duration_days <= MOST_DAYS))
    throw refuse(`duration_days must be 1 to ${MOST_DAYS}`)
}

/** Removes a discount: codes that were sent stay good. Fails with not_found, and with conflict while campaigns offer it. */
export async function removeDiscount(db: Db, id: string): Promise<void> {
  await db.tx(async (tx) => {
    await tx.one('discount_lock', [id])
    const campaigns = await tx.many<{ name: string }>('discount_campaigns', [id])
    if (campaigns.length) {
      const names = campaigns.map(({ name }) => `"${name}"`).join(', ')
      throw fail('conflict', `Campaigns offer this discount: ${names}. Archive or change them first.`)
    }
    await tx.run('discount_remove', [id])
  })
}
