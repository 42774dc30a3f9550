import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, zstdCompressSync } from 'node:zlib'
import { v7 as uuidv7 } from 'uuid'
import { type App, openApp } from '../src/app.ts'
import { createBrand } from '../src/cli/brand.ts'
import { readConfig } from '../src/config.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand } from '../src/op.ts'
import { removeEmbedded } from '../src/store/embedded.ts'
import { DAY_MS } from '../src/time.ts'

/** A service of the benchmark's own in a temporary folder, with one brand; `end` removes all of it. */
setLogLevel('error')

export async function stage(
  memoryMb = 2048,
): Promise<{ app: App; brand: Brand; dataDir: string; end(): Promise<void> }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'recoup-bench-'))
  const app = await openApp(readConfig({ DATA_DIR: dataDir, DUCKDB_MEMORY_MB: String(memoryMb) }))
  const brand = await createBrand(app, { name: 'Bench', shop_domain: 'bench.myshopify.com' })
  return {
    app,
    brand,
    dataDir,
    end: async () => {
      await app.close()
      await removeEmbedded(dataDir)
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

const TYPES = ['page_viewed', 'product_viewed', 'product_viewed', 'product_added_to_cart', 'search_submitted']
const BATCH = 2_000

/**
 * Fills event_log with events as the batcher writes them: about 250 bytes a line, spread over days and over so many
 * customers, or over those with these ids of the store, so many events of each in a row (`visit`). Others of them each
 * time that `ids` are others.
 */
export async function fillLog(
  app: App,
  brand: Brand,
  options: {
    events: number
    customers: number | readonly string[]
    days: number
    ids: string
    visit?: number
  },
): Promise<number> {
  const { sql } = app.postgres
  const now = Date.now()
  const { customers, visit = 1 } = options
  const known = typeof customers === 'number' ? null : customers
  const count = known?.length ?? Number(customers)
  const first = crc32(options.ids)
  let bytes = 0
  for (let start = 0; start < options.events; start += BATCH) {
    let lines = ''
    for (let n = start; n < Math.min(start + BATCH, options.events); n++) {
      // A multiplicative hash spreads customers, products and times without a random source.
      const hash = Math.imul(n + 1, 0x9e3779b1) >>> 0
      const product = (hash >>> 7) % 400
      const who = (Math.imul(first + Math.floor(n / visit), 0x85ebca6b) >>> 0) % count
      lines += `${JSON.stringify({
        brand_id: brand.id,
        event_id: `${options.ids}-${n}`,
        event_type: TYPES[hash % TYPES.length],
        received_at: now,
        occurred_at: now - (hash % (options.days * DAY_MS)),
        store_customer_id: known?.[who] ?? String(1 + who),
        properties: {
          product_id: `p${product}`,
          price: `${5 + (product % 90)}.90`,
          quantity: 1,
          path: `/products/${product}`,
        },
      })}\n`
    }
    bytes += lines.length
    const batch = Math.min(BATCH, options.events - start)
    await sql`insert into event_log (received_at, batch_id, event_count, payload)
      values (${new Date(now)}, ${uuidv7()}, ${batch}, ${zstdCompressSync(Buffer.from(lines), { params: { 100: 1 } })})`
  }
  return bytes / options.events
}

export const seconds = (ms: number) => (ms / 1000).toFixed(2)
export const rssMb = () => Math.round(process.memoryUsage.rss() / 1e6)
