import { v7 } from 'uuid'
import { emailOf, phoneOf } from '../../identity/channel.ts'
import { setConsent, upsertContact } from '../../identity/contact.ts'
import { assignSubjects } from '../../identity/subject.ts'
import { log } from '../../log.ts'
import type { StoreWork } from './apply.ts'
import { identityOf, namingsOf } from './erased.ts'
import type { Batch, ConsentRecord, CustomerRecord, Emptiable, Person } from './record.ts'
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
  ])
  await tx.run('store_removed_hide', [customers.map(({ externalId }) => externalId)])
  return cleared
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

interface Known {
  subject: number
  has_channel: boolean
  email_by_record: boolean
  phone_by_record: boolean
}

/**
 * Contacts: a customer's newest version says its channels; whom an order, checkout or consent names gets a contact only
 * where there is none, so that a late record takes no newer address away, and brings none back.
 */
export async function writeContacts(
  work: StoreWork,
  batch: Batch,
  newest: Newest,
  subjects: Subjects,
  cleared: readonly Cleared[],
): Promise<void> {
  const { tx } = work
  // First, so that another customer of the batch can have what one has no more.
  if (cleared.length) {
    const emptied = await tx.many<{ id: string }>('store_contacts_clear', [JSON.stringify(cleared)])
    for (const { id } of emptied)
      for (const channel of ['email', 'sms']) await tx.run('consent_apply', [id, channel])
  }
  for (const customer of batch.customers)
    if (newest.describes('customer', customer)) await putContact(work, customer.person, subjects)
  const others = [...batch.consents, ...batch.orders, ...batch.checkouts].map(({ person }) => person)
  const named = new Map(others.map((person) => [subjects.get(person) ?? 0, person]))
  named.delete(0)
  const known = named.size ? await tx.many<Known>('store_contacts_known', [[...named.keys()]]) : []
  for (const { subject, has_channel, email_by_record, phone_by_record } of known) {
    const person = named.get(subject)
    if (!person || has_channel) continue
    const { email, phone } = person
    await putContact(work, person, subjects, {
      email: email_by_record ? undefined : email,
      phone: phone_by_record ? undefined : phone,
    })
  }
  for (const consent of batch.consents) await putConsent(work, consent, subjects.get(consent.person) ?? 0)
}

async function putContact(
  { tx, brandId, region }: StoreWork,
  person: Person,
  subjects: Subjects,
  channels: Pick<Person, 'email' | 'phone'> = person,
): Promise<void> {
  const { email, phone } = channelsIn(channels, region)
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
