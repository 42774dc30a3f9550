import { Failure, unfitCode } from '../../errors.ts'
import { parseBody } from '../../event/body.ts'
import { mayBeLong } from '../../event/exact.ts'
import { applyRecords, type StoreWork } from './apply.ts'
import { bounded } from './bounded.ts'
import { forgetCustomer, forgetShop, noteDataRequest } from './compliance.ts'
import type { Connection } from './connection.ts'
import { Fields, Unreadable } from './fields.ts'
import { notAhead } from './not-ahead.ts'
import { COMPLIANCE_TOPICS, type Meaning, TOPICS } from './shopify/topics.ts'

/** A webhook whose signature was right. */
export interface Told {
  topic: string
  /** The platform's id of the delivery, the same when it is sent again. */
  webhookId: string
  triggeredAt: string
  receivedAt: string
  body: Buffer
}

/** Null: of a store that removed us, which still may ask to be forgotten and nothing else. */
export function meaningOf(
  { topic, body, triggeredAt, receivedAt }: Told,
  { status, currency, shopDomain }: Connection,
): Meaning | null {
  const read = Object.hasOwn(TOPICS, topic) ? TOPICS[topic] : undefined
  if (!read) throw new Unreadable(`the topic ${topic} is not one that this service knows`)
  if (status === 'disconnected' && !COMPLIANCE_TOPICS.includes(topic)) return null
  const meaning = read(new Fields(bodyOf(body)), { triggeredAt, currency, shopDomain })
  return 'records' in meaning ? { records: notAhead(bounded(meaning.records), receivedAt) } : meaning
}

/** Without a word of the body in what is wrong with it. */
function bodyOf(body: Buffer): unknown {
  try {
    const parsed = parseBody(body)
    return mayBeLong(body.toString('latin1')) ? parsed.exact() : parsed.value
  } catch {
    throw new Unreadable('the body must be JSON in UTF-8, not nested too deep')
  }
}

/** Does what a webhook means, in the transaction that notes it. */
export async function carryOut(
  work: StoreWork & Connection,
  delivery: Told,
  meaning: Meaning,
): Promise<void> {
  if ('records' in meaning) await applyRecords(work, meaning.records)
  else if ('uninstalled' in meaning) await work.tx.run('store_connection_end', [delivery.triggeredAt])
  else if ('redactCustomer' in meaning) await forgetCustomer(work.tx, meaning.redactCustomer)
  else if ('dataRequest' in meaning) await noteDataRequest(work, meaning.dataRequest, delivery)
  else await forgetShop(work.tx)
}

/** Why a webhook can never be carried out; null when trying again may help. */
export function reasonOf(error: unknown): string | null {
  if (error instanceof Unreadable) return error.message
  if (error instanceof Failure && error.code === 'bad_request') return error.message
  const code = unfitCode(error)
  return code !== undefined ? `Postgres refuses it (${code})` : null
}
