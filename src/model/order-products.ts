import type { Model } from './graph.ts'
import { isEdited } from './shipped.ts'

const ORDER_LINES = 'stg_order_lines'
export const ORDER_PRODUCTS = 'stg_order_products'

/**
 * Where somebody edited orders or lines, or has no model of products yet, these are made of the lines, so that both say the
 * same: slower.
 */
export function withProductsOfLines(models: Map<string, Model>): void {
  const lines = models.get(ORDER_LINES)
  const orders = models.get('stg_orders')
  const products = models.get(ORDER_PRODUCTS)
  const areLinesEdited = [orders, lines].some((model) => model && isEdited(model))
  if (!lines || (products && (!areLinesEdited || isEdited(products)))) return
  models.set(ORDER_PRODUCTS, {
    ...lines,
    name: ORDER_PRODUCTS,
    what: 'the different products of the lines of orders',
    grain: ['order_id', 'product_id'],
    from: { relation: ORDER_LINES },
    sql: `select distinct order_id, customer, created_at, product_id\nfrom ${ORDER_LINES}\nwhere product_id is not null`,
    reads: [ORDER_LINES],
  })
}
