import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKey } from '../access/key.ts'
import { KEY_SCOPES } from '../access/scopes.ts'
import type { App } from '../app.ts'
import type { Config } from '../config.ts'
import { snapshotAll } from '../lake/horizon.ts'
import type { Brand } from '../op.ts'
import { refreshBrand } from '../segment/refresh.ts'
import { createSegment } from '../segment/saved.ts'
import { createBrand } from './brand.ts'
import { shopDomain } from './brand-settings.ts'
import { command, integerOption } from './command.ts'
import { fillDemo } from './demo-fill.ts'
import { brand, ofBrand } from './of-brand.ts'
import type { Progress } from './progress.ts'

const NAME = 'Demo store'
const DEMO = { customers: 1_000, days: 365, seed: 1 }
/** All that a key can read. */
const READ_SCOPES = KEY_SCOPES.filter((scope) => scope.endsWith(':read'))

/** Segments that show what rules can say. */
const SEGMENTS = [
  {
    name: 'Spent 500 or more',
    definition: { source: 'customer_profile', rule: { field: 'total_spend', op: '>=', value: '500.00' } },
  },
  {
    name: 'Bought once, and not in the last 60 days',
    definition: {
      source: 'customer_profile',
      rule: {
        all: [
          { field: 'orders_count', op: '=', value: 1 },
          { field: 'last_order_at', op: 'notWithinLast', value: { days: 60 } },
        ],
      },
    },
  },
  {
    name: 'Looked at products this week without an order this month',
    definition: {
      source: 'product_events',
      rule: {
        all: [
          {
            op: 'count-over-window',
            window: { days: 7 },
            times: { op: '>=', n: 2 },
            where: [{ field: 'event_kind', op: '=', value: 'product_viewed' }],
          },
          {
            not: {
              source: 'commerce_orders',
              op: 'count-over-window',
              window: { days: 30 },
              times: { op: '>=', n: 1 },
            },
          },
        ],
      },
    },
  },
]

export interface DemoBrand {
  brand: Brand
  key: string
}

/** What the data folder remembers of its demo brand: nothing while it is being made. */
interface Remembered {
  brand_id?: string
  key?: string
}

const memory = (config: Config) => join(config.dataDir, 'demo-key.json')
const remember = (config: Config, remembered: Remembered) =>
  writeFileSync(memory(config), JSON.stringify(remembered), { mode: 0o600 })

function remembered(config: Config): Remembered | null {
  try {
    return JSON.parse(readFileSync(memory(config), 'utf8')) as Remembered
  } catch {
    return null
  }
}

/**
 * The demo brand of an empty service, made on the first run; null when the service has brands of its own only. A run
 * that was killed while it made the brand is gone on with.
 */
export async function ensureDemo(app: App, progress: (title: string) => Progress): Promise<DemoBrand | null> {
  const brands = await app.postgres.pipeline.many<Brand>('brands_all')
  const known = remembered(app.config)
  const found =
    known && brands.find(({ id, name }) => (known.brand_id ? id === known.brand_id : name === NAME))
  if (found && known.key) return { brand: found, key: known.key }
  if (!found && brands.length) return null

  if (!found) remember(app.config, {})
  const brand = found ?? (await createBrand(app, { name: NAME, shop_domain: shopDomain('demo', app.config) }))
  await fillDemo(app, brand, DEMO, progress)
  const db = app.postgres.forBrand(brand.id)
  for (const segment of SEGMENTS) {
    if (!(await db.maybe('segment_by_name', [segment.name])))
      await createSegment(db, { ...segment, createdBy: 'cli' })
  }
  await snapshotAll(app.pipeline)
  await refreshBrand(app.pipeline, brand.id)
  const { plaintext: key } = await createKey(db, { scopes: READ_SCOPES, name: 'demo' })
  remember(app.config, { brand_id: brand.id, key })
  return { brand, key }
}

/** What `make run` says once it is up. */
export function welcome(config: Config, demo: DemoBrand | null): string {
  const lines = [`Recoup is at ${config.baseUrl}  (health: ${config.baseUrl}/readyz)`]
  if (demo) {
    lines.push(
      `Demo brand "${demo.brand.name}" (${demo.brand.shop_domain})`,
      `Its API key: ${demo.key}`,
      `Try:  curl -H 'Authorization: Bearer ${demo.key}' ${config.baseUrl}/v1/segments`,
    )
  }
  lines.push('SQL:  make sql      Ctrl-C stops it.')
  return `${lines.join('\n')}\n`
}

export const demoCommands = [
  command({
    name: 'demo',
    what: 'Fill an empty brand with a generated, believable store; the same again changes nothing',
    options: {
      brand,
      customers: { type: 'string', placeholder: 'N', what: `Store customers (default ${DEMO.customers})` },
      days: { type: 'string', placeholder: 'D', what: `Days of history (default ${DEMO.days})` },
      seed: { type: 'string', placeholder: 'S', what: 'Same seed, same store (default 1)' },
    },
    run: async (run) => {
      const { values, progress } = run
      const size = {
        customers: integerOption(values, 'customers', DEMO.customers, 1, 10_000_000),
        days: integerOption(values, 'days', DEMO.days, 1, 3_650),
        seed: integerOption(values, 'seed', DEMO.seed, 0, 2 ** 31),
      }
      const { app, brand: found } = await ofBrand(run)
      return { brand_id: found.id, ...size, generated: await fillDemo(app, found, size, progress) }
    },
    text: ({ generated }) =>
      Object.entries(generated)
        .map(([kind, rows]) => `${kind} ${rows}`)
        .join(', '),
  }),
]
