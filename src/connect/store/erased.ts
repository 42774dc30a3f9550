import { erasedAmong, type Identity } from '../../identity/subject.ts'
import type { StoreWork } from './apply.ts'
import { type Batch, OLDEST, type Person, type Version } from './record.ts'

/** When a record said whom it is about: what does not say when is older than any erasure. */
export interface Naming {
  person: Person
  seenAt: string
  saidAt: string
}

const unless = (undated: true | undefined, at: string) => (undated ? OLDEST.toISOString() : at)
const writtenAt = ({ updatedAt, undated }: Version) => unless(undated, updatedAt)

/** Whom the records name, each person of theirs once. */
export function namingsOf(batch: Batch): Naming[] {
  const found = new Map<Person, Naming>()
  const add = (person: Person, seenAt: string, saidAt: string) => {
    if (!found.has(person)) found.set(person, { person, seenAt, saidAt })
  }
  for (const { person, createdAt, version } of batch.customers) add(person, createdAt, writtenAt(version))
  // What the store still does about an old order or checkout brings nobody back.
  for (const { person, createdAt } of [...batch.orders, ...batch.checkouts]) add(person, createdAt, createdAt)
  for (const { person, version } of batch.carts) add(person, version.updatedAt, writtenAt(version))
  for (const { person, changedAt, version } of batch.subscriptions)
    add(person, changedAt, unless(version.undated, changedAt))
  for (const { person, at, undatedAt, undated } of batch.consents)
    add(person, at, unless(undated, undatedAt ?? at))
  for (const { person, orderExternalId, createdAt } of batch.refunds)
    if (orderExternalId === null) add(person, createdAt, createdAt)
  return [...found.values()]
}

export const identityOf = ({
  person: { storeCustomerId, email, phone },
  seenAt,
  saidAt,
}: Naming): Identity => ({
  storeCustomerId,
  email,
  phone,
  seenAt: new Date(seenAt),
  saidAt: new Date(saidAt),
})

/**
 * The records without what they say of customers who were erased since: a store that is read again would bring it back.
 * Sums stay right: an order is kept without anybody's name, and the database sees to it that it stays so.
 */
export async function withoutErased(work: StoreWork, batch: Batch): Promise<Batch> {
  const { tx, brandId, storePlatformDomain } = work
  const namings = namingsOf(batch)
  const identities = namings.map(identityOf)
  const verdicts = identities.length
    ? await erasedAmong(tx, brandId, identities, { storePlatformDomain })
    : []
  const erased = new Set(namings.filter((_, at) => verdicts[at]).map(({ person }) => person))
  if (erased.size === 0) return batch
  const isErased = ({ person }: { person: Person }) => erased.has(person)
  const nameless = <Kind extends { person: Person }>(record: Kind, more: Partial<Kind> = {}): Kind =>
    isErased(record) ? { ...record, person: {}, ...more } : record
  return {
    ...batch,
    customers: batch.customers.filter((one) => !isErased(one)),
    consents: batch.consents.filter((one) => !isErased(one)),
    orders: batch.orders.map((one) => nameless(one, { erased: true })),
    refunds: batch.refunds.map((one) => nameless(one)),
    checkouts: batch.checkouts.map((one) => nameless(one, { erased: true })),
    carts: batch.carts.map((one) => nameless(one)),
    // One that does not say when is left to the reconcile: as nobody's, its events would be lost to who came back.
    subscriptions: batch.subscriptions
      .filter((one) => !(isErased(one) && one.version.undated))
      .map((one) => nameless(one)),
  }
}
