import { emailOf } from '../../event/email.ts'
import { phoneOf } from '../../identity/channel.ts'
import type { Channels } from '../../identity/contact.ts'
import { assignSubjects } from '../../identity/subject.ts'
import type { Statements } from '../../op.ts'
import type { StoreWork } from './apply.ts'
import { identityOf, namingsOf } from './erased.ts'
import type { Batch, CustomerRecord, Emptiable, Person } from './record.ts'
import type { Newest } from './versions.ts'

/** The subject of each person of a batch; 0 for one that nothing identifies. */
export type Subjects = ReadonlyMap<Person, number>

/** Everybody whom the records name, also those of old versions: an address that was theirs still is evidence. */
export async function subjectsOf(
  { tx, brandId, storePlatformDomain }: StoreWork,
  batch: Batch,
): Promise<Subjects> {
  const namings = namingsOf(batch)
  const identities = namings.map(identityOf)
  const subjects = await assignSubjects(tx, brandId, identities, { storePlatformDomain, source: 'store' })
  const stored = namings.flatMap(({ person }) => person.storeCustomerId ?? [])
  await hideRemoved(tx, stored)
  return new Map(namings.map(({ person }, at) => [person, subjects[at] ?? 0]))
}

/** What was taken out of the description of a customer. */
export interface Cleared {
  subject: number
  email: string | null
  phone: string | null
  first_name: string | null
  last_name: string | null
}

/** Descriptions of customers, by their newest versions; of one that the store removed it stays hidden. */
export async function writeCustomers(
  { tx, region }: StoreWork,
  customers: readonly CustomerRecord[],
  newest: Newest,
  subjects: Subjects,
): Promise<Cleared[]> {
  if (customers.length === 0) return []
  const all = customers.map((customer) => ({
    subject: subjects.get(customer.person) ?? 0,
    isNewest: newest.describes('customer', customer),
    says: customer.says,
    row: rowOf(customer, region),
  }))
  const cleared = await tx.many<Cleared>('store_customers_clear', [JSON.stringify(all.map(sayingOf))])
  const latest = all.filter(({ isNewest }) => isNewest)
  await tx.many('import_customers', [
    JSON.stringify(latest.map(({ row }) => row)),
    latest.map(({ subject }) => subject),
    true,
  ])
  await hideRemoved(
    tx,
    customers.map(({ externalId }) => externalId),
  )
  return cleared
}

/** Of these customers those that the store removed are hidden, and others who were named with their addresses have them. */
export async function hideRemoved(tx: Statements, storeCustomerIds: readonly string[]): Promise<void> {
  if (storeCustomerIds.length === 0) return
  const due = await tx.many<{ subject: number }>('store_removed_due', [storeCustomerIds])
  if (due.length === 0) return
  // Who is named with their addresses meanwhile is known then.
  await tx.one('identity_lock')
  const subjects = due.map(({ subject }) => subject)
  await tx.run('store_removed_hide', [subjects])
  await tx.run('identifiers_hand_on', [subjects])
  await tx.run('identifiers_handed_on')
}

const rowOf = ({ person, tags, createdAt, version }: CustomerRecord, region: string) => ({
  ...channelsIn(person, region),
  first_name: person.firstName ?? null,
  last_name: person.lastName ?? null,
  tags,
  created_at: createdAt,
  updated_at: version.updatedAt,
})

interface Version {
  subject: number
  isNewest: boolean
  says: readonly Emptiable[]
  row: ReturnType<typeof rowOf>
}

function sayingOf({ subject, isNewest, says, row }: Version) {
  const { email, phone, first_name, last_name, updated_at } = row
  const lacks = (field: Emptiable, value: string | null) => isNewest && value === null && says.includes(field)
  return {
    subject,
    names_email: email !== null,
    names_phone: phone !== null,
    lacks_email: lacks('email', email),
    lacks_phone: lacks('phone', phone),
    lacks_first_name: lacks('firstName', first_name),
    lacks_last_name: lacks('lastName', last_name),
    updated_at: isNewest ? updated_at : null,
  }
}

/** As they are stored; null for what is none. */
export const channelsIn = ({ email, phone }: Person, region: string): Channels => ({
  email: (email && emailOf(email)) || null,
  phone: (phone && phoneOf(phone, region)) || null,
})
