import { hash } from 'node:crypto'
import type { Model } from './graph.ts'

export const ORDER_LINES = 'stg_order_lines'
export const ORDER_PRODUCTS = 'stg_order_products'

/** Of the models by which the products that files of orders have are those of their lines. A test says what they are now. */
const AS_SHIPPED: Readonly<Record<string, string>> = {
  stg_orders: 'ff3e10372edc5507cb9a085b6565f01463d3b21821b88a8a937d024cc7eb7a5e',
  [ORDER_LINES]: '9cb07f67d9255381ddeadaf6ee3292d2ce955beebf490a3e4869dec5ca8f4a4e',
  [ORDER_PRODUCTS]: '44edc7f33ebb88a59a962b8c1257d32c1122d6ea89d2fd5ffd8cfed5150977bb',
}

type Text = Pick<Model, 'name' | 'sql'>

/** Whether somebody changed one of these models; comments and line breaks are nothing of it. */
export const isEdited = ({ name, sql }: Text): boolean => hashOf(sql) !== AS_SHIPPED[name]

export const hashOf = (sql: string): string => hash('sha256', plain(sql))

const plain = (sql: string) =>
  sql
    .replace(/^\s*--.*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim()

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
