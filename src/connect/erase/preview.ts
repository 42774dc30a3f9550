import { customerIdOf } from '../../event/id.ts'
import { phoneAlone } from '../../identity/channel.ts'
import type { Whom } from '../../identity/erasure-request.ts'
import { isOneOf } from '../../lake/one-of.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import { openSession } from '../../lake/session.ts'
import type { Brand } from '../../op.ts'
import { type Found, findPerson } from './cut.ts'

/** What an erasure would find, before anything changes. */
export interface Preview {
  customer_ids: string[]
  identifiers: number
  orders: number
  checkouts: number
  subscriptions: number
  contacts: number
  events: number
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Whom an identifier may name, by its shape: an address, a number, a store customer id, a customer or contact id. What
 * may be an id or a number, as figures alone may, has both.
 */
export async function whomsOf(
  { postgres }: Pipeline,
  { id: brandId, default_phone_region: region }: Brand,
  identifier: string,
): Promise<Whom[]> {
  const given = identifier.trim()
  if (given.includes('@')) return [{ email: given }]
  const phone = phoneAlone(given, region)
  const asPhone = phone === undefined ? [] : [{ phone }]
  if (given.startsWith('+')) return phone === undefined ? [{ phone: given }] : asPhone
  if (/^\d+$/.test(given)) return [{ storeCustomerId: given }, ...asPhone]
  const storeCustomerId = customerIdOf(given)
  // A sender's own id may be written so, too.
  if (storeCustomerId !== undefined) return [{ storeCustomerId, profileId: given }]
  const db = postgres.pipeline
  if (!UUID.test(given) || (await db.maybe('erasure_public_id', [brandId, given])))
    return [{ profileId: given }, ...asPhone]
  const contact = await db.maybe<{ email: string | null; phone: string | null; customer_id: string | null }>(
    'erasure_contact',
    [brandId, given],
  )
  if (!contact) return [{ profileId: given }]
  const { email, phone: number, customer_id } = contact
  return [{ profileId: customer_id, email, phone: number }]
}

/** Everything that names them; nothing changes. */
export function personOf(pipeline: Pipeline, brand: Brand, whom: Whom): Promise<Found> {
  const named = {
    store_customer_id: whom.storeCustomerId,
    profile_id: whom.profileId,
    email: whom.email,
    phone: whom.phone,
  }
  const given = Object.fromEntries(Object.entries(named).filter(([, value]) => value)) as Record<
    string,
    string
  >
  return pipeline.postgres.pipeline.tx((tx) => findPerson(tx, pipeline, brand.id, given))
}

/** Whether somebody has the identifier; if nobody does, which erasure it went with, if any. */
export type Standing = { known: true } | { known: false; erasureId: string | null }

/** Who only an event names that the lake does not have yet is not known. */
export async function standingOf(pipeline: Pipeline, brand: Brand, whom: Whom): Promise<Standing> {
  const { pipeline: db } = pipeline.postgres
  const { subjects, identifiers } = await personOf(pipeline, brand, whom)
  const { email, phone } = identifiers
  const contact = await db.one<{ some: boolean }>('erasure_contacts_named', [brand.id, email, phone])
  if (subjects.length || contact.some) return { known: true }
  // The id of a contact that was erased is like any id to `whomsOf`.
  const contactIds = identifiers.profile_id.map((id) => id.toLowerCase())
  const named = Object.entries({ ...identifiers, contact_id: contactIds }).flatMap(([kind, values]) =>
    values.map((value) => [kind, value]),
  )
  const [stone] = await db.many<{ erased_at: Date }>('tombstones_among', [
    brand.id,
    named.map(([kind]) => kind),
    named.map(([, value]) => value),
  ])
  const erasure = stone && (await db.maybe<{ id: string }>('erasure_at', [brand.id, stone.erased_at]))
  return { known: false, erasureId: erasure?.id ?? null }
}

/** Counts what is stored of a customer. */
export async function previewErasure(pipeline: Pipeline, brand: Brand, whom: Whom): Promise<Preview> {
  const { pipeline: db } = pipeline.postgres
  const { subjects, customerIds, identifiers } = await personOf(pipeline, brand, whom)
  const rows = await db.one<Omit<Preview, 'customer_ids' | 'identifiers' | 'events'>>('erasure_preview', [
    brand.id,
    subjects,
  ])
  return {
    customer_ids: customerIds,
    identifiers: Object.values(identifiers).reduce((sum, values) => sum + values.length, 0),
    ...rows,
    events: await eventsOf(pipeline, brand, subjects),
  }
}

async function eventsOf(pipeline: Pipeline, brand: Brand, subjects: readonly number[]): Promise<number> {
  if (subjects.length === 0) return 0
  const session = await openSession(pipeline, brand, new Date())
  try {
    const [row] = await session.duck.rows<{ events: number }>(
      `select count(*) as events from events where ${isOneOf(subjects, 'subject')}`,
    )
    return row?.events ?? 0
  } finally {
    await session.close()
  }
}
