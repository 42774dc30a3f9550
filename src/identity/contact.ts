import { isDeepStrictEqual } from 'node:util'
import { v7 } from 'uuid'
import { fail } from '../errors.ts'
import { emailOf } from '../event/email.ts'
import type { Statements } from '../op.ts'
import { phoneOf } from './channel.ts'

export type ContactChannel = 'email' | 'phone'
export type ConsentChannel = 'sms' | 'email'
/** `pending`: a double opt-in that was not confirmed. */
export type ConsentState = 'subscribed' | 'unsubscribed' | 'unknown' | 'pending'

/** As it is told: who has not confirmed has neither agreed nor refused. */
export const toldConsent = (state: ConsentState) => (state === 'pending' ? 'unknown' : state)

/** Channels as they are stored: email trimmed and in lower case, phone in E.164; null for what is none. */
export interface Channels {
  email: string | null
  phone: string | null
}

/** What is known of somebody. Texts as they were sent; null where nothing was. */
export interface FoundContact {
  /** Ordinal of the customer, where one is known. */
  subject: number | null
  email: string | null
  phone: string | null
  firstName: string | null
  lastName: string | null
}

interface ContactRow extends FoundContact {
  id: string
  /** Whose it is by now. */
  customer: number | null
  /** Linked to somebody else than the customer. */
  is_others: boolean
}

/** Normalises channels. A number without a country code is one of the brand's default region. */
export async function channelsOf(
  tx: Statements,
  { email, phone }: { email: string | null; phone: string | null },
): Promise<Channels> {
  const address = email === null ? null : (emailOf(email) ?? null)
  if (phone === null) return { email: address, phone }
  return { email: address, phone: phoneOf(phone, await regionOf(tx, phone)) ?? null }
}

/** With a country code the region has no say. */
const regionOf = async (tx: Statements, phone: string) =>
  phone.startsWith('+') ? 'US' : (await tx.one<{ region: string }>('contact_region')).region

/**
 * Makes or updates the contact of these channels, within a transaction of the brand. Evidence of the server, the store
 * or a webhook only: what is given replaces what was there, except the subject.
 *
 * `conflict` names the channel that another contact owns; nothing is changed then. Of two contacts of one person each keeps
 * its channel, and the one with the email is meant. Throws `bad_request` when neither
 * text is an address or a number (see `channelsOf`). A changed channel takes no consent along.
 */
export async function upsertContact(
  tx: Statements,
  found: FoundContact,
): Promise<{ contactId: string } | { conflict: ContactChannel }> {
  const { subject, firstName, lastName } = found
  const channels = await channelsOf(tx, found)
  const { email } = channels
  if (email === null && channels.phone === null)
    throw fail('bad_request', 'A contact needs an email address or a phone number')

  await tx.run('contact_lock', [locksOf(channels, subject)])
  const rows = await tx.many<ContactRow>('contacts_like', [email, channels.phone, subject])
  const owner = ownerOf(rows, channels, subject)
  if (owner !== null && 'conflict' in owner) return owner
  const isElsewhere = rows.some(({ id, phone }) => id !== owner?.id && phone === channels.phone)
  const phone = isElsewhere ? null : channels.phone
  const values = [subject, email, phone, firstName, lastName]
  if (owner === null) {
    const contactId = v7()
    await tx.run('contact_insert', [contactId, ...values])
    return { contactId }
  }
  if (!isNews(owner, { subject, email, phone, firstName, lastName })) return { contactId: owner.id }
  // Somebody else gave it another channel since it was read, or removed it.
  if ((await tx.run('contact_update', [owner.id, ...values, owner.email, owner.phone])) === 0)
    return await upsertContact(tx, found)
  const isLinked = owner.subject === null && subject !== null
  if (isLinked) await applyConsents(tx, owner.id)
  else if ((email !== null && owner.email !== email) || (phone !== null && owner.phone !== phone))
    await tx.run('consent_apply', [[owner.id]])
  return { contactId: owner.id }
}

/** Whether the contact does not say already what is given of it. */
const isNews = (owner: ContactRow, { subject, ...given }: FoundContact) =>
  (owner.subject === null && subject !== null) ||
  Object.entries(given).some(
    ([field, value]) => value !== null && value !== owner[field as keyof typeof given],
  )

/** Links a contact that nobody is known to have to the customer whose email or phone it has. */
export async function linkContact(
  tx: Statements,
  contactId: string,
  { email, phone }: Channels,
): Promise<void> {
  const holder = await tx.maybe<{ subject: number; locked: boolean }>('contact_link_lock', [
    contactId,
    email,
    phone,
  ])
  if (!holder?.locked) return
  if ((await tx.run('contact_link', [contactId, holder.subject])) > 0) await applyConsents(tx, contactId)
}

/** All contacts of the person show what was said by any of them. */
async function applyConsents(tx: Statements, contactId: string): Promise<void> {
  await tx.run('consent_apply', [await holdContacts(tx, [contactId, null, null])])
}

/**
 * The contacts of a person, and who else has an email or phone, so that all who speak at once see each other's word. Who
 * was waited for may have become one with others meanwhile: these are held, too.
 */
async function holdContacts(
  tx: Statements,
  named: [contactId: string, email: string | null, phone: string | null],
): Promise<string[]> {
  let held: string[] = []
  for (;;) {
    const ids = (await tx.many<{ id: string }>('contacts_hold', named)).map(({ id }) => id)
    if (isDeepStrictEqual(ids, held)) return held
    held = ids
  }
}

const locksOf = ({ email, phone }: Channels, subject: number | null) => [
  ...(email === null ? [] : [`email ${email}`]),
  ...(phone === null ? [] : [`phone ${phone}`]),
  ...(subject === null ? [] : [`subject ${subject}`]),
]

/** Of the rows that share a channel or the customer, the one to update. */
function ownerOf(
  rows: readonly ContactRow[],
  { email, phone }: Channels,
  subject: number | null,
): ContactRow | { conflict: ContactChannel } | null {
  const byEmail = email === null ? undefined : rows.find((row) => row.email === email)
  const byPhone = phone === null ? undefined : rows.find((row) => row.phone === phone)
  const isOnes = byEmail?.customer != null && byEmail.customer === byPhone?.customer
  if (byEmail && byPhone && byEmail.id !== byPhone.id && !isOnes)
    return { conflict: byEmail.is_others ? 'email' : 'phone' }
  const bySubject = subject === null ? undefined : rows.find((row) => row.subject === subject)
  const owner = byEmail ?? byPhone
  if (!owner) return bySubject ?? null
  // One without a channel stands in nobody's way.
  const hasOther =
    bySubject && owner.subject !== subject && (bySubject.email !== null || bySubject.phone !== null)
  return owner.is_others || hasOther ? { conflict: byEmail ? 'email' : 'phone' } : owner
}

/**
 * Records what somebody said about a channel at an instant, and where; `address` (normalised, '' for none) is what it
 * is about, else the contact's own. A contact shows the newest word on its address, and the newest no of the person on any,
 * however late an older one comes; saying the same again changes nothing. Who is linked to nobody refuses for the customer
 * who has their address as well. False: there is no such contact any more.
 */
export async function setConsent(
  tx: Statements,
  contactId: string,
  channel: ConsentChannel,
  state: ConsentState,
  source: string,
  at: Date,
  address?: string,
): Promise<boolean> {
  const [email, phone] = channel === 'email' ? [address, null] : [null, address]
  const held = await holdContacts(tx, [contactId, email || null, phone || null])
  if (!held.includes(contactId)) return false
  await tx.run('consent_insert', [contactId, channel, state, source, at, address ?? null])
  await tx.run('consent_apply', [held])
  if (state !== 'unsubscribed') return true
  const theirs = await tx.maybe<{ id: string; address: string }>('contact_of_holder', [
    ...[contactId, channel, address ?? null],
  ])
  if (theirs) await setConsent(tx, theirs.id, channel, state, source, at, theirs.address)
  return true
}

/**
 * Takes back what a contact refused on a channel by one source since an instant, so that what was said before and elsewhere
 * holds; resolves with that, and with when the refusals were. Null: they do not forbid messages now, or others do as well;
 * then the transaction must not commit.
 */
export async function takeBackRefusals(
  tx: Statements,
  contactId: string,
  channel: ConsentChannel,
  source: string,
  since: Date,
): Promise<{ state: ConsentState; refusedAt: Date[] } | null> {
  const held = await holdContacts(tx, [contactId, null, null])
  const shown = async () =>
    (await tx.maybe<{ state: ConsentState }>('consent_shown', [contactId, channel]))?.state
  if ((await shown()) !== 'unsubscribed') return null
  const refusals = await tx.many<{ contact_id: string; at: Date }>('refusals_take_back', [
    ...[contactId, channel, source, since],
  ])
  const others = [...new Set(refusals.map(({ contact_id }) => contact_id))].filter((id) => !held.includes(id))
  await tx.run('consent_apply', [held])
  for (const id of others) await applyConsents(tx, id)
  const state = await shown()
  if (state === undefined || state === 'unsubscribed') return null
  return { state, refusedAt: refusals.map(({ at }) => at) }
}
