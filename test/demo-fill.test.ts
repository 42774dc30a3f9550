import { readdirSync } from 'node:fs'
import t from 'tap'
import { openApp } from '../src/app.ts'
import { createBrand } from '../src/cli/brand.ts'
import { fillDemo } from '../src/cli/demo-fill.ts'
import { readConfig } from '../src/config.ts'
import { database } from './fixtures/database.ts'

t.test('two brands that are filled at once have each their own store', async (t) => {
  const { url, postgres } = await database(t)
  const app = await openApp(readConfig({ DATABASE_URL: url, DATA_DIR: t.testdir() }))
  t.teardown(() => app.close())
  const stores = [
    ['one', 3],
    ['two', 40],
  ] as const
  const silent = () => ({ update() {}, end() {} })
  const filled = await Promise.all(
    stores.map(async ([name, customers]) => {
      const brand = await createBrand(app, { name, shop_domain: `${name}.myshopify.com` })
      return { brand, counts: await fillDemo(app, brand, { customers, days: 30, seed: 1 }, silent) }
    }),
  )
  for (const { brand, counts } of filled) {
    const [stored] = await postgres.sql`
      select (select count(*)::integer from store_order where brand_id = ${brand.id}) as orders,
        (select count(*)::integer from product where brand_id = ${brand.id}) as products,
        (select count(*)::integer from customer where brand_id = ${brand.id} and store_customer_id is not null) as customers`
    t.strictSame(
      { ...stored },
      { orders: counts.orders, products: counts.products, customers: counts.customers },
      brand.name,
    )
  }
  t.strictSame(
    readdirSync(app.config.dataDir).filter((name) => name.startsWith('demo') && !name.endsWith('.json')),
    [],
  )
})
