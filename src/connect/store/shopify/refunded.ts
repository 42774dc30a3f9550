import { type Fields, Unreadable } from '../fields.ts'
import { amountOf, minus, shareOf, sum } from '../money.ts'
import type { RefundRecord } from '../record.ts'
import { type Money, moneyOf, presentmentOf } from './shop-money.ts'

/** What a refund comes to, in the shop's money. */
export interface Refunded {
  currencyCode: string
  /** What came back to the shopper until now: the successful transactions. */
  total: string
  /** With the pending ones; of a refund that failed what it was to be. */
  asked: string
}

interface Transaction extends Money {
  status: string
}

/** An amount that a refund is made of. */
interface Part {
  shop: Money
  presentment: Money | null
  isTax: boolean
  /** What the shop keeps rather than gives back. */
  isKept: boolean
}

/**
 * What a refund comes to where nothing but its body is known: at most two readings, the likelier first, since a body
 * without sets of both moneys leaves open which currency is the shop's.
 */
export function readings(fields: Fields, likelyCurrency: string): [Refunded, RefundRecord['otherwise']?] {
  const said = partsOf(fields).find(({ shop }) => shop.currency !== null)?.shop.currency
  const currency = said ?? likelyCurrency
  const likely = refunded(fields, currency)
  const other = transactionsOf(fields).find((one) => (one.currency ?? currency) !== currency)?.currency
  if (said) return [likely]
  if (!transactionsOf(fields).some((one) => one.currency)) return [likely, { ...likely, currencyCode: null }]
  if (!other) return [likely]
  const otherwise = refunded(fields, other)
  // Without anything to reckon by, what the transactions say is all there is.
  return partsOf(fields).length ? [likely, otherwise] : [otherwise, likely]
}

/** Transactions in the shopper's currency count at the rate of what the refund is made of. */
export function refunded(fields: Fields, shopCurrency: string): Refunded {
  const transactions = transactionsOf(fields)
  const { total, asked } = movedBy(transactions)
  const shoppers = transactions.find((one) => (one.currency ?? shopCurrency) !== shopCurrency)?.currency
  const inShops = shoppers ? exchanged(partsOf(fields), asked, shoppers) : asked
  if (shoppers && amountOf(inShops) === null)
    throw new Unreadable(`${fields.at('transactions')} must come to an amount in the shop's currency`)
  return {
    currencyCode: shopCurrency,
    total: notBelowZero(shoppers ? shareOf(inShops, total, asked) : total),
    asked: notBelowZero(inShops),
  }
}

/** What transactions move that succeeded, and with those whose money is on its way, or was to be when all failed. */
export function movedBy(transactions: readonly { status: string; amount: string }[]) {
  const sumOf = (...statuses: string[]) =>
    sum(transactions.filter(({ status }) => statuses.includes(status)).map(({ amount }) => amount))
  const total = sumOf('success')
  const live = sumOf('success', 'pending')
  const failed = transactions.filter(({ status }) => status !== 'success' && status !== 'pending').at(-1)
  return { total, asked: hasLive(transactions) ? live : (failed?.amount ?? '0.00') }
}

const hasLive = (transactions: readonly { status: string }[]) =>
  transactions.some(({ status }) => status === 'success' || status === 'pending')

const transactionsOf = (fields: Fields): Transaction[] =>
  fields
    .list('transactions')
    .filter((one) => one.text('kind') === 'refund')
    .map((one) => {
      const money = moneyOf(one, 'amount')
      return {
        status: one.text('status') ?? 'success',
        amount: money?.amount ?? '0.00',
        currency: money?.currency ?? one.currency('currency'),
      }
    })

/** What a refund is made of: lines, shipping and duties; and adjustments, what the shop keeps as a positive one. */
function partsOf(fields: Fields): Part[] {
  const shipping = fields.list('refund_shipping_lines')
  const isTwice = (adjustment: Fields) => shipping.length > 0 && adjustment.text('kind') === 'shipping_refund'
  return [
    ...fields
      .list('refund_line_items')
      .flatMap((line) => [...partOf(line, 'subtotal'), ...partOf(line, 'total_tax', { isTax: true })]),
    ...shipping.flatMap((line) => [
      ...partOf(line, 'subtotal_amount'),
      ...partOf(line, 'tax_amount', { isTax: true }),
    ]),
    ...partOf(fields, 'total_duties'),
    ...fields
      .list('order_adjustments')
      .filter((one) => !isTwice(one))
      .flatMap((one) => [
        ...partOf(one, 'amount', { isKept: true }),
        ...partOf(one, 'tax_amount', { isKept: true, isTax: true }),
      ]),
  ]
}

function partOf(fields: Fields, name: string, { isTax = false, isKept = false } = {}): Part[] {
  const shop = moneyOf(fields, name)
  return shop ? [{ shop, presentment: presentmentOf(fields, name), isTax, isKept }] : []
}

/** So much of the shopper's currency in the shop's; without a rate all that the refund is made of. */
function exchanged(parts: readonly Part[], asked: string, currency: string): string {
  const priced = parts.filter(({ presentment }) => presentment?.currency === currency)
  const withoutTax = priced.filter(({ isTax }) => !isTax)
  // Prices may hold the tax, which the refund does not say: the sum that is asked for is exact to the cent.
  const some = shoppersSum(withoutTax) === asked ? withoutTax : priced
  const whole = shoppersSum(some)
  if (whole !== '0.00') return shareOf(asked, sum(some.map(({ shop }) => size(shop))), whole)
  if (asked === '0.00') return asked
  const sumOf = (isKept: boolean) =>
    sum(parts.filter((part) => part.isKept === isKept).map(({ shop }) => shop.amount))
  return minus(sumOf(false), sumOf(true))
}

const shoppersSum = (parts: readonly Part[]) =>
  sum(parts.flatMap(({ presentment }) => (presentment ? [size(presentment)] : [])))

const size = ({ amount }: Money) => amount.replace('-', '')

const notBelowZero = (total: string) => (total.startsWith('-') ? '0.00' : total)
