import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Seal } from '../../../access/seal.ts'
import type { Brand } from '../../../op.ts'
import type { Postgres } from '../../../store/postgres.ts'
import { connectStore } from '../../store/connect.ts'
import { type Connection, connectionOf } from '../../store/connection.ts'
import { backfill } from '../../store/sync.ts'
import { webhookPath } from '../../store/webhook-address.ts'
import { ShopLife } from './life.ts'
import { sendWebhooks } from './sender.ts'
import { startFakeStore } from './server.ts'
import { ShopState } from './state.ts'

export interface DemoStoreOptions {
  postgres: Postgres
  seal: Seal
  brand: Brand
  storePlatformDomain: string
  /** Origin of the webhook receiver. */
  webhookUrl: string
  /** Steps of the store's life before now, which the back-fill reads. */
  history: number
  everyMs: number
  /** A checkout without activity for so long is abandoned. */
  abandonedAfterMinutes?: number | undefined
  signal: AbortSignal
  onStep?(sent: number): void
}

/** At most what a step of the past takes. */
const STEP_MS = 25 * 60_000
const ACCESS_TOKEN = 'shpat_demo'
const SECRET = 'the secret of the demo store'

export const isDemoStore = ({ webhookSecret }: Connection) => webhookSecret === SECRET

const choices = {
  below: (limit: number) => (limit > 0 ? randomInt(limit) : 0),
  chance: (share: number) => Math.random() < share,
}

/** Connects a brand to a fake store on loopback, reads its history, and lets it live until the signal. */
export async function runDemoStore(options: DemoStoreOptions): Promise<void> {
  const { postgres, seal, brand, storePlatformDomain, webhookUrl, signal } = options
  const life = new ShopLife(
    new ShopState(brand.currency_code),
    choices,
    new Date(Date.now() - options.history * STEP_MS),
  )
  life.open({ products: 12, customers: 60 })
  for (let step = 0; step < options.history; step++) life.step()
  life.messages()
  const { state } = life
  const store = await startFakeStore({ state, shopDomain: brand.shop_domain, accessToken: ACCESS_TOKEN })
  try {
    const url = `${webhookUrl}${webhookPath('shopify')}`
    const credentials = { accessToken: ACCESS_TOKEN, webhookSecret: SECRET }
    await connectStore({
      ...{ postgres, seal, brand, ...credentials, apiOrigin: store.origin },
      ...{ webhookUrl, subscribes: true },
      abandonedAfterMinutes: options.abandonedAfterMinutes,
    })
    const db = postgres.forBrand(brand.id)
    const connection = await connectionOf(db, seal)
    if (!connection) throw new Error('the store was disconnected while it was connected')
    await backfill({ db, connection, storePlatformDomain, signal })
    life.live()
    while (!signal.aborted) {
      life.step()
      const sent = { url, secret: SECRET, shopDomain: brand.shop_domain, choices }
      options.onStep?.(await sendWebhooks(life.messages(), sent))
      await pause(options.everyMs, undefined, { signal }).catch(() => {})
    }
  } finally {
    await store.close()
  }
}
