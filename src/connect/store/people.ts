import { v7 } from 'uuid'
import { emailOf, phoneOf } from '../../identity/channel.ts'
import { setConsent, upsertContact } from '../../identity/contact.ts'
import { assignSubjects } from '../../identity/subject.ts'
import { log } from '../../log.ts'
import type { StoreWork } from './apply.ts'
import { identityOf, namingsOf } from './erased.ts'
import type { Batch, ConsentRecord, CustomerRecord, Person } from './record.ts'
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
  if (stored.length) await tx.run('store_removed_hide', [stored])
  return new Map(namings.map(({ person }, at) => [person, subjects[at] ?? 0]))
}

/** Descriptions of customers, by their newest versions. */
export async function writeCustomers(
  { tx, region }: StoreWork,
  customers: readonly CustomerRecord[],
  subjects: Subjects,
): Promise<void> {
  if (customers.length === 0) return
  const rows = customers.map(({ person, tags, createdAt, version }) => ({
    ...channelsIn(person, region),
    first_name: person.firstName ?? null,
    last_name: person.lastName ?? null,
    tags,
    created_at: createdAt,
    updated_at: version.updatedAt,
  }))
  await tx.many('import_customers', [
    JSON.stringify(rows),
    customers.map(({ person }) => subjects.get(person) ?? 0),
  ])
}

/**
 * Contacts: a customer's newest version says its channels; whom an order, checkout or consent names gets a contact only
 * where there is none, so that a late record takes no newer address away.
 */
export async function writeContacts(
  work: StoreWork,
  batch: Batch,
  newest: Newest,
  subjects: Subjects,
): Promise<void> {
  for (const customer of batch.customers)
    if (newest.describes('customer', customer)) await putContact(work, customer.person, subjects)
  const others = [...batch.consents, ...batch.orders, ...batch.checkouts].map(({ person }) => person)
  const unknown = new Map(others.map((person) => [subjects.get(person) ?? 0, person]))
  unknown.delete(0)
  if (unknown.size) {
    const known = await work.tx.many<{ subject: number }>('store_contacts_of', [[...unknown.keys()]])
    for (const { subject } of known) unknown.delete(subject)
    for (const person of unknown.values()) await putContact(work, person, subjects)
  }
  for (const consent of batch.consents) await putConsent(work, consent, subjects.get(consent.person) ?? 0)
}

async function putContact(
  { tx, brandId, region }: StoreWork,
  person: Person,
  subjects: Subjects,
): Promise<void> {
  const { email, phone } = channelsIn(person, region)
  if (email === null && phone === null) return
  const { firstName = null, lastName = null } = person
  const found = { subject: subjects.get(person) || null, email, phone, firstName, lastName }
  const put = await upsertContact(tx, found)
  if (!('conflict' in put)) return
  // What another contact owns stays with it; the rest is still worth having.
  log('warn', 'store_contact_conflict', { brand_id: brandId, channel: put.conflict })
  const rest = { ...found, [put.conflict]: null }
  if (rest.email !== null || rest.phone !== null) await upsertContact(tx, rest)
}

/** Word of the store on a record as it is, without when the shopper said so. */
const UNDATED = 'store record'

async function putConsent({ tx, region }: StoreWork, consent: ConsentRecord, subject: number): Promise<void> {
  const { channel, state, at, undatedAt, person } = consent
  const { email, phone } = channelsIn(person, region)
  const address = (channel === 'sms' ? phone : email) ?? ''
  // Without an address only a no says anything.
  if (subject === 0 || (address === '' && state !== 'unsubscribed')) return
  await tx.run('store_consent_holder', [v7(), subject])
  const { id } = await tx.one<{ id: string }>('store_consent_contact', [subject])
  // A yes without a time is the oldest word of all; what takes one back counts from the version that says it.
  if (undatedAt === null || state === 'subscribed')
    return await setConsent(tx, id, channel, state, 'store', new Date(at), address)
  await setConsent(tx, id, channel, state, UNDATED, new Date(undatedAt), address)
  await tx.run('store_consent_restate', [id, channel, state, UNDATED, undatedAt, address])
}

const channelsIn = ({ email, phone }: Person, region: string) => ({
  email: (email && emailOf(email)) || null,
  phone: (phone && phoneOf(phone, region)) || null,
})
