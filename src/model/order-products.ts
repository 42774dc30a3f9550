import { hash } from 'node:crypto'
import type { Model } from './graph.ts'

export const ORDER_LINES = 'stg_order_lines'
export const ORDER_PRODUCTS = 'stg_order_products'

/** Of the models by which the products that files of orders have are those of their lines. A test says what it is now. */
const AS_KEPT = '0fe6876832887f0b5aef43f12b1013b7b74074bbb80e483f258f448da9db1a54'

type Text = Pick<Model, 'name' | 'sql'>

/** Whether lines are read as they came, so that the products that are kept beside them say what they do. */
export const linesAreAsKept = (models: Iterable<Text>): boolean => hashOfLines(models) === AS_KEPT

/** Changes with the SQL of the models of orders and their lines; comments and line breaks are none of it. */
export function hashOfLines(models: Iterable<Text>): string {
  const texts = [...models].flatMap(({ name, sql }) =>
    name === ORDER_LINES || name === 'stg_orders' ? [[name, plain(sql)]] : [],
  )
  return hash('sha256', JSON.stringify(texts.sort()))
}

const plain = (sql: string) =>
  sql
    .replace(/^\s*--.*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim()

/** Where somebody edited lines, or has no model of products yet, these are made of the lines: slower, and what they say. */
export function withProductsOfLines(models: Map<string, Model>): void {
  const lines = models.get(ORDER_LINES)
  const products = models.get(ORDER_PRODUCTS)
  if (!lines || (products && linesAreAsKept(models.values()))) return
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
