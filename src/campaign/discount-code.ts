import { randomInt } from 'node:crypto'
import type { Connection } from '../connect/store/connection.ts'
import { makeCode } from '../connect/store/discount.ts'
import { fail } from '../errors.ts'
import type { Statements } from '../op.ts'
import { DAY_MS } from '../time.ts'
import type { Discount } from './discount.ts'

/** Without those that are taken for others when they are read out. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const LENGTH = 8
const PREFIX = 'THANKS'
const NO_STORE = 'No store is connected to this brand: a code for each contact is made there.'

export interface DiscountCode {
  code: string
  /** Null: without end. */
  expires_at: Date | null
}

/** The live store, where codes are made, or that of a demo, which takes any; null: there is none. */
export type CodeStore = Pick<Connection, 'apiOrigin' | 'accessToken'> | 'demo' | null

export interface CodeOptions {
  store: CodeStore
  now: Date
  /** Throws where the store is not to be asked now. */
  mayAsk?: () => void
  signal?: AbortSignal
}

interface TakenCode extends DiscountCode {
  made_at: Date | null
}

/**
 * The code that a contact gets of a discount: the discount's own, or the contact's. A contact keeps a code until it is
 * used or half of its days are over. It is written down before the store is asked, and given out once the store has it: a call that
 * died is taken up by the next. Not for use within a transaction, which must not wait for the store. Throws what
 * `makeCode` throws, also where there is no store.
 */
export async function discountCode(
  db: Pick<Statements, 'maybe' | 'run'>,
  discount: Discount,
  contactId: string,
  { store, now, mayAsk, signal }: CodeOptions,
): Promise<DiscountCode> {
  if (discount.code !== null) return { code: discount.code, expires_at: null }
  const { code, expires_at, made_at } = await takenCode(db, discount, contactId, now)
  if (made_at === null) {
    const { name: title, type, value, minimum_type, minimum_value } = discount
    const minimum = minimum_type && minimum_value ? { type: minimum_type, value: minimum_value } : null
    if (store === null) throw fail('integration_not_connected', NO_STORE)
    if (store !== 'demo') {
      mayAsk?.()
      await makeCode(store, { title, code, type, value, minimum, startsAt: now, endsAt: expires_at }, signal)
    }
    await db.run('discount_code_made', [code])
  }
  return { code, expires_at }
}

async function takenCode(
  db: Pick<Statements, 'maybe'>,
  { id, prefix, duration_days }: Discount,
  contactId: string,
  now: Date,
): Promise<TakenCode> {
  // At least half of what the discount promises.
  const atLeast = ((duration_days ?? 0) * DAY_MS) / 2
  const ends = duration_days === null ? null : new Date(now.getTime() + duration_days * DAY_MS)
  for (;;) {
    const taken = await db.maybe<TakenCode>('discount_code_take', [
      id,
      contactId,
      randomCode(prefix ?? PREFIX),
      new Date(now.getTime() + atLeast),
      ends,
    ])
    if (taken) return taken
  }
}

const randomCode = (prefix: string) =>
  `${prefix}-${Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')}`
