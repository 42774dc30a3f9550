import type { Seal } from '../../access/seal.ts'
import { errorCode, Failure, fail } from '../../errors.ts'
import { parseBody } from '../../event/body.ts'
import { log } from '../../log.ts'
import type { Postgres } from '../../store/postgres.ts'
import { applyRecords, type StoreWork } from './apply.ts'
import { forgetCustomer, forgetShop, noteDataRequest } from './compliance.ts'
import { type Connection, connectionOfShop } from './connection.ts'
import { Fields, Unreadable } from './fields.ts'
import { createLanes } from './lanes.ts'
import { COMPLIANCE_TOPICS, type Meaning, TOPICS } from './shopify/topics.ts'
import { isSignedBy } from './signature.ts'

/** One webhook of a store. */
export interface Delivery {
  topic: string
  /** The platform's id of the delivery, the same when it is sent again. */
  webhookId: string
  triggeredAt: string
  signature: string
  body: Buffer
}

/** dead: kept with the reason, since sending it again would not help. */
export type Outcome =
  | { ok: true; deduplicated?: true }
  | { ok: false; reason: 'dead_letter'; message: string }

export interface Receiver {
  find(platform: string, shopDomain: string): Promise<Connection | null>
  /** Writes what the webhook tells, once; resolves after the commit. Throws `unauthorized` for a wrong signature. */
  receive(connection: Connection, delivery: Delivery): Promise<Outcome>
  /** Tries the kept webhooks again, such as after a new version learned to read them. */
  replay(connection: Connection): Promise<{ applied: number; dead: number }>
}

/** The platform waits five seconds for an answer. */
const DEADLINE_MS = 4_000
const ATTEMPTS = 3

export interface ReceiverParts {
  postgres: Postgres
  seal: Seal
  storePlatformDomain: string
}

export function createReceiver({ postgres, seal, storePlatformDomain }: ReceiverParts): Receiver {
  const inLane = createLanes()
  return {
    find: (platform, shopDomain) => connectionOfShop(postgres.pipeline, seal, platform, shopDomain),

    async receive(connection, delivery) {
      const { brandId, webhookSecret } = connection
      if (!isSignedBy(delivery.body, delivery.signature, webhookSecret))
        throw fail('unauthorized', 'The signature is not that of this body with the secret of this store')
      const db = postgres.forBrand(brandId)
      try {
        const meaning = meaningOf(delivery, connection)
        const write = () =>
          db.tx(async (tx): Promise<Outcome> => {
            await tx.one('store_deadline', [DEADLINE_MS])
            const outcome = meaning === null ? 'ignored' : 'applied'
            if ((await tx.run('store_delivery_add', [...rowOf(delivery), outcome, null, null])) === 0)
              return { ok: true, deduplicated: true }
            if (meaning) await carryOut({ tx, storePlatformDomain, ...connection }, delivery, meaning)
            return { ok: true }
          })
        return await inLane(brandId, () => persistently(write))
      } catch (error) {
        const message = reasonOf(error)
        if (message === null) throw error
        log('warn', 'store_webhook_dead', { brand_id: brandId, topic: delivery.topic, reason: message })
        await db.run('store_delivery_add', [...rowOf(delivery), 'dead', message, delivery.body])
        return { ok: false, reason: 'dead_letter', message }
      }
    },

    async replay(connection) {
      const db = postgres.forBrand(connection.brandId)
      const kept = await db.many<DeadRow>('store_dead')
      let applied = 0
      for (const { webhook_id: webhookId, topic, triggered_at, payload } of kept) {
        if (!payload) continue
        const delivery = { webhookId, topic, triggeredAt: triggered_at.toISOString(), body: payload }
        try {
          const meaning = meaningOf(delivery, connection)
          await db.tx(async (tx) => {
            await tx.run('store_dead_done', [webhookId, meaning ? 'applied' : 'ignored'])
            if (meaning) await carryOut({ tx, storePlatformDomain, ...connection }, delivery, meaning)
          })
          applied++
        } catch (error) {
          if (reasonOf(error) === null) throw error
        }
      }
      return { applied, dead: kept.length - applied }
    },
  }
}

interface DeadRow {
  webhook_id: string
  topic: string
  triggered_at: Date
  payload: Buffer | null
}

type Told = Omit<Delivery, 'signature'>

const rowOf = ({ webhookId, topic, triggeredAt }: Told) => [webhookId, topic, triggeredAt]

/** Null: of a store that removed us, which still may ask to be forgotten and nothing else. */
function meaningOf({ topic, body, triggeredAt }: Told, { status, currency }: Connection): Meaning | null {
  const read = Object.hasOwn(TOPICS, topic) ? TOPICS[topic] : undefined
  if (!read) throw new Unreadable(`the topic ${topic} is not one that this service knows`)
  if (status === 'disconnected' && !COMPLIANCE_TOPICS.includes(topic)) return null
  return read(new Fields(bodyOf(body)), { triggeredAt, currency })
}

/** Digits that a double may not hold: only then is the costlier exact reading needed. */
const LONG_NUMBER = /\d{16}/

/** Without a word of the body in what is wrong with it. */
function bodyOf(body: Buffer): unknown {
  try {
    const parsed = parseBody(body)
    return LONG_NUMBER.test(body.toString('latin1')) ? parsed.exact() : parsed.value
  } catch {
    throw new Unreadable('the body must be JSON in UTF-8, not nested too deep')
  }
}

async function carryOut(work: StoreWork & Connection, delivery: Told, meaning: Meaning): Promise<void> {
  if ('records' in meaning) await applyRecords(work, meaning.records)
  else if ('uninstalled' in meaning) await work.tx.run('store_connection_end', [delivery.triggeredAt])
  else if ('redactCustomer' in meaning) await forgetCustomer(work.tx, meaning.redactCustomer)
  else if ('dataRequest' in meaning) await noteDataRequest(work.tx, meaning.dataRequest, delivery)
  else await forgetShop(work.tx)
}

/** Once more after a deadlock or a lost race, as Postgres asks for. */
async function persistently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !/^40/.test(errorCode(error) ?? '')) throw error
    }
  }
}

/** Why a webhook can never be carried out; null when trying again may help. */
function reasonOf(error: unknown): string | null {
  if (error instanceof Unreadable) return error.message
  if (error instanceof Failure && error.code === 'bad_request') return error.message
  const code = errorCode(error)
  return code !== undefined && /^2[23]/.test(code) ? `Postgres refuses it (${code})` : null
}
