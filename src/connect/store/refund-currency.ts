import type { StoreWork } from './apply.ts'
import type { RefundRecord } from './record.ts'

/** Refunds in the currency of their order, where the store leaves open which currency is the shop's. */
export async function inOrderCurrency(
  { tx }: Pick<StoreWork, 'tx'>,
  refunds: readonly RefundRecord[],
): Promise<RefundRecord[]> {
  const ids = refunds.flatMap(({ orderExternalId: id, otherwise }) => (otherwise && id !== null ? [id] : []))
  const rows = ids.length
    ? await tx.many<{ external_id: string; currency_code: string }>('store_orders_known', [ids])
    : []
  const currencyOf = new Map(rows.map(({ external_id, currency_code }) => [external_id, currency_code]))
  return refunds.map(({ otherwise, ...refund }) => {
    const currencyCode = currencyOf.get(refund.orderExternalId ?? '')
    if (!otherwise || !currencyCode) return refund
    const isOf = (otherwise.currencyCode ?? currencyCode) === currencyCode
    return isOf ? { ...refund, ...otherwise, currencyCode } : refund
  })
}
