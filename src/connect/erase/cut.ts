import { emailOf } from '../../event/email.ts'
import { phoneOf } from '../../identity/channel.ts'
import { type Identifiers, noIdentifiers } from '../../identity/people.ts'
import { KINDS } from '../../identity/profile.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import type { Statements } from '../../op.ts'
import { eraseRows } from './tables.ts'

export interface Requested {
  brand_id: string
  id: string
}

interface Held {
  state: string
  /** Null from the cut on. */
  whom: Record<string, string> | null
  erased_at: Date | null
}

/** Whom a request is about. */
export interface Found {
  subjects: number[]
  customerIds: string[]
  identifiers: Identifiers
  region: string
}

type Kind = keyof Identifiers

/**
 * Finds the customer and takes it out of the tables at one moment: from then on its identifiers name nobody, what they
 * name in older data stays out, and whoever comes with them is somebody new. Done once; again, it does nothing.
 */
export async function cutIdentity(pipeline: Pipeline, { brand_id: brandId, id }: Requested): Promise<void> {
  await pipeline.postgres.pipeline.tx(async (tx) => {
    const { whom, erased_at } = await tx.one<Held>('erasure_hold', [brandId, id])
    if (erased_at !== null || whom === null) return
    const found = await findPerson(tx, pipeline, brandId, whom)
    await tx.run('erasure_key_make')
    const { now } = await tx.one<{ now: Date }>('erasure_now')
    const named = Object.entries(found.identifiers).flatMap(([kind, values]) =>
      values.map((value) => [kind, value] as const),
    )
    await tx.run('tombstones_add', [
      brandId,
      named.map(([kind]) => kind),
      named.map(([, value]) => value),
      now,
    ])
    const { subjects, customerIds, identifiers } = found
    const { email, phone } = identifiers
    await tx.run('tombstones_of_contacts_add', [brandId, subjects, email, phone, now])
    await tx.run('erasure_cut', [brandId, id, subjects, customerIds, JSON.stringify(identifiers), now])
    const counts = await eraseRows(tx, { brandId, subjects, identifiers, erasedAt: now })
    await tx.run('erasures_counted', [brandId, [id], JSON.stringify(counts)])
    // What the lake does with identities that it read before must not be published.
    await tx.run('lake_erasures_count')
    await tx.run('lake_brand_erasures_count', [brandId])
  })
}

/** Everything that names the person whom the identifiers name; nothing changes. */
export async function findPerson(
  tx: Statements,
  { storePlatformDomain }: Pick<Pipeline, 'storePlatformDomain'>,
  brandId: string,
  whom: Readonly<Record<string, string>>,
): Promise<Found> {
  const { region, shop_domain } = await tx.one<{ region: string; shop_domain: string }>('erasure_brand', [
    brandId,
  ])
  const prefix = `${firstLabel(storePlatformDomain)}:${firstLabel(shop_domain)}:`
  const named = normalised(whom, region, prefix)
  const identifiers = noIdentifiers()
  let subjects: number[] = []
  let customerIds: string[] = []
  for (const [kind, value] of named) {
    const holder = await tx.maybe<{ subject: number }>('erasure_holder', [brandId, kind, value])
    // What nobody has is theirs, too; what somebody else has is not.
    if (!holder) identifiers[kind].push(value)
    if (!holder || subjects.length) continue
    const profiles = await tx.many<{ subject: number; id: string }>('erasure_subjects', [
      brandId,
      holder.subject,
    ])
    subjects = profiles.map(({ subject }) => subject)
    customerIds = profiles.map(({ id }) => id)
  }
  const known = await tx.many<{ kind: Kind; value: string }>('erasure_identifiers', [brandId, subjects])
  for (const { kind, value } of known) identifiers[kind].push(value)
  return { subjects, customerIds, identifiers, region }
}

const firstLabel = (domain: string) => domain.split('.', 1)[0] ?? domain

/** What was named, as it is stored, the strongest kind first. */
function normalised(
  whom: Readonly<Record<string, string>>,
  region: string,
  prefix: string,
): [kind: Kind, value: string][] {
  const { profile_id } = whom
  const storeId = profile_id?.startsWith(prefix) ? profile_id.slice(prefix.length) : undefined
  const values: Partial<Record<Kind, string | undefined>> = {
    store_customer_id: whom.store_customer_id ?? storeId,
    profile_id,
    email: whom.email === undefined ? undefined : (emailOf(whom.email) ?? whom.email),
    phone: whom.phone === undefined ? undefined : (phoneOf(whom.phone, region) ?? whom.phone),
  }
  return KINDS.flatMap((kind) => {
    const value = values[kind]
    return value === undefined ? [] : [[kind, value] as [Kind, string]]
  })
}
