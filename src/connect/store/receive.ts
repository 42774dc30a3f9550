import type { Seal } from '../../access/seal.ts'
import { log } from '../../log.ts'
import { persistently } from '../../store/persistently.ts'
import type { Postgres } from '../../store/postgres.ts'
import { KEPT, NO_LONGER_KEPT, SLICE_BYTES } from '../kept.ts'
import { createLanes } from '../lanes.ts'
import { type Connection, connectionsOfShops } from './connection.ts'
import { carryOut, meaningOf, reasonOf, type Told } from './meaning.ts'
import type { Meaning } from './shopify/topics.ts'

/** dead_letter: kept with the reason, since sending it again would not help. */
export type Outcome =
  | { ok: true; deduplicated?: true }
  | { ok: false; reason: 'dead_letter'; message: string }

/** Of those whose body is kept. */
export interface Replayed {
  applied: number
  dead: number
}

export interface Receiver {
  find(platform: string, shopDomain: string): Promise<Connection | null>
  /** Writes what a webhook tells whose signature was found right, once; resolves after the commit. */
  receive(connection: Connection, delivery: Told): Promise<Outcome>
  /** Tries the kept webhooks again, such as after a new version learned to read them. */
  replay(connection: Connection): Promise<Replayed>
}

export interface ReceiverParts {
  postgres: Postgres
  seal: Seal
  storePlatformDomain: string
  /** Another clock than that of this machine, which says what is news. */
  now?: () => Date
}

/** The platform waits five seconds for an answer. */
const DEADLINE_MS = 4_000

export function createReceiver(parts: ReceiverParts): Receiver {
  const inLane = createLanes()
  return {
    find: connectionsOfShops(parts.postgres.pipeline, parts.seal),
    receive: (connection, delivery) => receive(parts, inLane, connection, delivery),
    replay: (connection) => replay(parts, connection),
  }
}

async function receive(
  { postgres, storePlatformDomain, now }: ReceiverParts,
  inLane: ReturnType<typeof createLanes>,
  connection: Connection,
  delivery: Told,
): Promise<Outcome> {
  const { brandId } = connection
  const db = postgres.forBrand(brandId)
  try {
    const write = (meaning: Meaning | null) =>
      db.tx(async (tx): Promise<Outcome> => {
        await tx.one('store_deadline', [DEADLINE_MS])
        const outcome = meaning === null ? 'ignored' : 'applied'
        if ((await tx.run('store_delivery_add', [...rowOf(delivery), outcome, null, null])) === 0)
          return { ok: true, deduplicated: true }
        if (meaning) await carryOut({ tx, storePlatformDomain, now, ...connection }, delivery, meaning)
        return { ok: true }
      })
    // Read in its turn, too: a body takes several times its bytes when it is parsed.
    return await inLane(brandId, async () => {
      const meaning = meaningOf(delivery, connection)
      return await persistently(() => write(meaning))
    })
  } catch (error) {
    const message = reasonOf(error)
    if (message === null) throw error
    log('warn', 'store_webhook_dead', { brand_id: brandId, topic: delivery.topic, reason: message })
    const { added, dropped } = await db.tx(async (tx) => ({
      added: await tx.run('store_delivery_add', [...rowOf(delivery), 'dead', message, delivery.body]),
      dropped: await tx.run('store_dead_drop', [KEPT.bytes, KEPT.most, NO_LONGER_KEPT]),
    }))
    if (dropped) log('warn', 'store_webhooks_dropped', { brand_id: brandId, count: dropped })
    return added ? { ok: false, reason: 'dead_letter', message } : { ok: true, deduplicated: true }
  }
}

const rowOf = ({ webhookId, topic, triggeredAt }: Told) => [webhookId, topic, triggeredAt]

interface KeptRow {
  webhook_id: string
  topic: string
  triggered_at: Date
  received_at: Date
  payload: Buffer
  position: string
}

async function replay(parts: ReceiverParts, connection: Connection): Promise<Replayed> {
  const db = parts.postgres.forBrand(connection.brandId)
  const replayed = { applied: 0, dead: 0 }
  for (let after: KeptRow | undefined; ; ) {
    const behind = [after?.position ?? '-infinity', after?.webhook_id ?? '']
    const kept: KeptRow[] = await db.many<KeptRow>('store_dead_next', [...behind, SLICE_BYTES])
    if (kept.length === 0) return replayed
    for (const row of kept) {
      const outcome = await replayOne(parts, connection, row)
      if (outcome) replayed[outcome]++
    }
    after = kept.at(-1)
  }
}

/** Null: meanwhile it was carried out or came again. */
async function replayOne(
  { postgres, storePlatformDomain, now }: ReceiverParts,
  connection: Connection,
  { webhook_id: webhookId, topic, triggered_at, received_at, payload, position }: KeptRow,
): Promise<keyof Replayed | null> {
  const [triggeredAt, receivedAt] = [triggered_at.toISOString(), received_at.toISOString()]
  const told = { webhookId, topic, triggeredAt, receivedAt, body: payload }
  try {
    const meaning = meaningOf(told, connection)
    return await persistently(() =>
      postgres.forBrand(connection.brandId).tx(async (tx) => {
        const row = [webhookId, meaning ? 'applied' : 'ignored', position]
        if ((await tx.run('store_dead_done', row)) === 0) return null
        if (meaning) await carryOut({ tx, storePlatformDomain, now, ...connection }, told, meaning)
        return 'applied'
      }),
    )
  } catch (error) {
    if (reasonOf(error) === null) throw error
    return 'dead'
  }
}
