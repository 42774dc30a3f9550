import { greatest, least, minus, shareOf, sum, times } from '../money.ts'
import type { LineRecord } from '../record.ts'
import type { Refunded } from './refunded.ts'

/** A refund within its order. */
export interface RefundWithin extends Pick<Refunded, 'total' | 'asked'> {
  /** It has transactions: it is more than the note of an edit that took something off the order. */
  moves: boolean
  lines: readonly { lineId: string | null; quantity: number }[]
}

/** What the store says of what an order comes to. */
export interface Said {
  /** As it was ordered. */
  total: string
  /** After edits and refunds; null: the store says nothing of it. */
  current: string | null
  /** What the shopper owes still, below zero what they paid too much; null: the store says nothing of it. */
  outstanding: string | null
  refunds: readonly RefundWithin[]
  /** Of the order as a whole, as it was ordered. */
  discount: string
  isCancelled: boolean
}

export interface SaidLine extends Omit<LineRecord, 'total'> {
  /** After edits and refunds; null: the store says nothing of it. */
  current: number | null
  discount: string
}

/** What an order comes to, its discount and its lines, without what an edit took off that nobody had paid for. */
export function keptOf(said: Said, lines: readonly SaidLine[]) {
  const total = keptTotal(said)
  const back = total === said.total ? null : backOf(said.refunds)
  const kept = lines.map((line) => keptLine(line, back ? keptQuantity(line, back) : line.quantity))
  const gone = minus(sum(lines.map((line) => line.discount)), sum(kept.map(({ discount }) => discount)))
  return {
    total,
    discount: greatest(minus(said.discount, gone), '0.00'),
    lines: kept
      .filter(({ quantity }, at) => quantity > 0 || lines[at]?.quantity === 0)
      .map(
        ({ current: _, discount, ...line }): LineRecord => ({
          ...line,
          total: minus(times(line.quantity, line.price), discount),
        }),
      ),
  }
}

/** What is left of it, what came back or is to, and what else was paid: what a refund takes back counts as refunded. */
function keptTotal({ total, current, outstanding, refunds, isCancelled }: Said): string {
  if (current === null || outstanding === null || isCancelled) return total
  const back = sum(refunds.map((refund) => refund.total))
  const onItsWay = minus(sum(refunds.map(({ asked }) => asked)), back)
  const kept = sum([current, back, greatest(onItsWay, minus('0.00', outstanding), '0.00')])
  return least(total, greatest(kept, '0.00'))
}

/** How many of each line came back, or are to, for money. */
function backOf(refunds: readonly RefundWithin[]): ReadonlyMap<string | null, number> {
  const back = new Map<string | null, number>()
  for (const { moves, lines } of refunds)
    if (moves) for (const { lineId, quantity } of lines) back.set(lineId, (back.get(lineId) ?? 0) + quantity)
  return back
}

function keptQuantity({ id, quantity, current }: SaidLine, back: ReadonlyMap<string | null, number>): number {
  return current === null ? quantity : Math.min(quantity, current + (back.get(id) ?? 0))
}

function keptLine(line: SaidLine, kept: number): SaidLine {
  const { quantity, discount } = line
  const share = kept === quantity ? discount : shareOf(discount, times(kept, '1.00'), times(quantity, '1.00'))
  return { ...line, quantity: kept, discount: share }
}

/** Of lines, before discounts. */
export const subtotalOf = (lines: readonly LineRecord[]): string =>
  sum(lines.map(({ quantity, price }) => times(quantity, price)))
