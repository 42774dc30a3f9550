import { v7 } from 'uuid'
import { mergeConsents } from '../../identity/consents.ts'
import { type Channels, setConsent, upsertContact } from '../../identity/contact.ts'
import { log } from '../../log.ts'
import type { Statements } from '../../op.ts'
import type { StoreWork } from './apply.ts'
import { type Cleared, channelsIn, type Subjects } from './people.ts'
import { type Batch, type ConsentRecord, OLDEST, type Person, type Removal } from './record.ts'
import type { Newest } from './versions.ts'

interface Known {
  subject: number
  has_channel: boolean
  email_by_record: boolean
  phone_by_record: boolean
}

interface Named extends Channels {
  subject: number
  firstName: string | null
  lastName: string | null
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
  const { tx, region } = work
  const named = (person: Person): Named => ({
    subject: subjects.get(person) ?? 0,
    ...channelsIn(person, region),
    firstName: person.firstName ?? null,
    lastName: person.lastName ?? null,
  })
  const records = batch.customers
    .filter((customer) => newest.describes('customer', customer))
    .map(({ person }) => named(person))
  // First, so that another customer of the batch can have what one has no more.
  const left = [
    ...(await take(tx, 'store_contacts_clear', cleared)),
    ...(await take(tx, 'store_contacts_leave', records)),
  ]
  for (const record of records) await putContact(work, record)
  const others = new Map(
    [...batch.consents, ...batch.orders, ...batch.checkouts].map(({ person }) => [
      subjects.get(person) ?? 0,
      person,
    ]),
  )
  others.delete(0)
  const known = others.size ? await tx.many<Known>('store_contacts_known', [[...others.keys()]]) : []
  for (const { subject, has_channel, email_by_record, phone_by_record } of known) {
    const person = others.get(subject)
    if (!person || has_channel) continue
    const { email, phone, ...rest } = named(person)
    await putContact(work, {
      ...rest,
      email: email_by_record ? null : email,
      phone: phone_by_record ? null : phone,
    })
  }
  await passOn(work, left)
  for (const consent of batch.consents) await putConsent(work, consent, subjects.get(consent.person) ?? 0)
}

/** What customers have no more is taken from their contacts; resolves with what these had. */
async function take(
  tx: Statements,
  statement: 'store_contacts_clear' | 'store_contacts_leave',
  rows: readonly object[],
): Promise<Channels[]> {
  if (rows.length === 0) return []
  const taken = await tx.many<Channels & { id: string }>(statement, [JSON.stringify(rows)])
  if (taken.length) await tx.run('consent_apply', [taken.map(({ id }) => id)])
  return taken
}

/** What the contact of another customer has stays with it; the rest is still worth having. */
async function putContact({ tx, brandId }: StoreWork, { subject, ...named }: Named): Promise<void> {
  const found = { ...named, subject: subject || null }
  while (found.email !== null || found.phone !== null) {
    const put = await upsertContact(tx, found)
    if (!('conflict' in put)) return
    const { conflict } = put
    const wanted = { email: null, phone: null, [conflict]: found[conflict] }
    if (await tx.run('store_channel_take', [wanted.email, wanted.phone, found.subject])) {
      await mergeConsents(tx.many, [subject])
      continue
    }
    log('warn', 'store_contact_conflict', { brand_id: brandId, channel: conflict })
    found[conflict] = null
  }
}

/** Channels that contacts have no more go to the customers whose records named them while they had them. */
async function passOn(work: StoreWork, left: readonly Channels[]): Promise<void> {
  const channels = left.flatMap(({ email, phone }) => [
    ...(email === null ? [] : [{ kind: 'email', value: email }]),
    ...(phone === null ? [] : [{ kind: 'phone', value: phone }]),
  ])
  if (channels.length === 0) return
  const heirs = await work.tx.many<Named>('store_channels_heirs', [
    channels.map(({ kind }) => kind),
    channels.map(({ value }) => value),
  ])
  for (const heir of heirs) await putContact(work, heir)
}

/** Once customers were removed: what their contacts have goes to the customers whose records name it. */
export async function passOnRemoved(work: StoreWork, removals: readonly Removal[]): Promise<void> {
  const removed = removals.flatMap(({ kind, externalId }) => (kind === 'customer' ? externalId : []))
  if (removed.length) await passOn(work, await work.tx.many<Channels>('store_removed_channels', [removed]))
}

/** Word of the store on a record as it is, without when the shopper said so. */
const UNDATED = 'store record'

const addressOf = ({ channel, person }: ConsentRecord, region: string) => {
  const { email, phone } = channelsIn(person, region)
  return (channel === 'sms' ? phone : email) ?? ''
}

/** Of old consents of erased customers only a no is heard, for a contact who has the address now. */
export async function hearRefusals({ tx, region }: StoreWork, old: readonly ConsentRecord[]): Promise<void> {
  for (const consent of old) {
    const address = addressOf(consent, region)
    if (consent.state !== 'unsubscribed' || address === '') continue
    await tx.run('refusal_keep', [consent.channel, address, new Date(consent.at)])
    const asked = consent.channel === 'sms' ? [null, address, null] : [address, null, null]
    const [holder] = await tx.many<{ id: string }>('contacts_like', asked)
    if (holder) await sayConsent(tx, holder.id, consent, address)
  }
}

async function putConsent({ tx, region }: StoreWork, consent: ConsentRecord, subject: number): Promise<void> {
  const address = addressOf(consent, region)
  // Without an address only a no says anything.
  if (subject === 0 || (address === '' && consent.state !== 'unsubscribed')) return
  await tx.run('store_consent_holder', [v7(), subject])
  const { id } = await tx.one<{ id: string }>('store_consent_contact', [subject])
  await sayConsent(tx, id, consent, address)
}

async function sayConsent(
  tx: Statements,
  id: string,
  { channel, state, at, undatedAt }: ConsentRecord,
  address: string,
): Promise<void> {
  // A yes without a time is the oldest word of all, older than the customer: the shopper may have refused before. What takes
  // one back counts from the version that says it.
  const saidAt = undatedAt === null ? new Date(at) : OLDEST
  if (undatedAt === null || state === 'subscribed') {
    await setConsent(tx, id, channel, state, 'store', saidAt, address)
    return
  }
  await setConsent(tx, id, channel, state, UNDATED, new Date(undatedAt), address)
  await tx.run('store_consent_restate', [id, channel, state, UNDATED, undatedAt, address])
}
