import type { Fields } from '../fields.ts'

export interface Money {
  amount: string
  /** Null: the payload does not say it. */
  currency: string | null
}

/** The shop's money: `total_price_set.shop_money` where it is, since `total_price` can be the shopper's on some topics. */
export function moneyOf(fields: Fields, name: string): Money | null {
  const shop = inSet(fields, name, 'shop_money')
  if (shop) return shop
  const plain = fields.amountOrNull(name)
  return plain === null ? null : { amount: plain, currency: null }
}

/** The shopper's money of the same amount. */
export const presentmentOf = (fields: Fields, name: string): Money | null =>
  inSet(fields, name, 'presentment_money')

function inSet(fields: Fields, name: string, whose: 'shop_money' | 'presentment_money'): Money | null {
  const money = fields.object(`${name}_set`)?.object(whose)
  return money?.has('amount')
    ? { amount: money.amount('amount'), currency: money.currency('currency_code') }
    : null
}
