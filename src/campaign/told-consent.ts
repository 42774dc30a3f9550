import { v7 } from 'uuid'
import { appendEvent } from '../event/append.ts'
import { type ConsentChannel, type ConsentState, setConsent } from '../identity/contact.ts'
import type { Statements } from '../op.ts'

/** Who said something, by all that is known of them. */
export interface Speaker {
  subjects: readonly number[]
  customerIds: readonly string[]
  emails: readonly string[]
  phones: readonly string[]
}

/** What somebody said on being messaged to a person who records it. */
export interface Told {
  channel: ConsentChannel
  state: 'subscribed' | 'unsubscribed'
  at: Date
}

interface Contact {
  id: string
  email: string | null
  phone: string | null
}

const BY_SUPPORT = 'support'

/**
 * Records what somebody said, in a transaction of the brand: consent with its history, and the event `consent_updated`. A no is
 * of the person, a yes of their addresses. Resolves with whether it was news; null: they have no address to agree for.
 */
export async function recordTold(
  tx: Statements,
  brandId: string,
  speaker: Speaker,
  told: Told,
): Promise<{ isNews: boolean } | null> {
  const { channel, state, at } = told
  const contacts = await contactsOf(tx, speaker)
  const reached = contacts.filter(({ email, phone }) => (channel === 'sms' ? phone : email) !== null)
  const about = state === 'unsubscribed' && reached.length === 0 ? contacts.slice(0, 1) : reached
  const [first] = about
  if (!first) return null
  const news: Contact[] = []
  for (const contact of about) if (!(await isSaid(tx, contact.id, told))) news.push(contact)
  for (const { id } of news) await setConsent(tx, id, channel, state, BY_SUPPORT, at)
  if (news.length === 0) return { isNews: false }
  const [customerId] = speaker.customerIds
  const { email, phone } = first
  await appendEvent(tx, brandId, {
    event_type: 'consent_updated',
    event_id: `consent_updated:${v7()}`,
    occurred_at: at.getTime(),
    ...(customerId ? { profile_id: customerId } : { ...(email && { email }), ...(phone && { phone }) }),
    properties: { channel, state },
  })
  return { isNews: true }
}

/** The contacts of the person; of a customer who has none one is made. */
async function contactsOf(tx: Statements, { subjects, emails, phones }: Speaker): Promise<Contact[]> {
  const find = () => tx.many<Contact>('contacts_of_person', [subjects, emails, phones])
  const found = await find()
  if (found.length > 0 || subjects.length === 0) return found
  await tx.run('contacts_of_named', [subjects, subjects.map(() => v7())])
  return await find()
}

/** Whether the contact shows it, and it was recorded so. */
async function isSaid(tx: Statements, contactId: string, { channel, state }: Told): Promise<boolean> {
  const shown = await tx.maybe<{ state: ConsentState }>('consent_shown', [contactId, channel])
  const newest = await tx.maybe<{ state: ConsentState; source: string }>('consent_newest', [
    contactId,
    channel,
  ])
  return shown?.state === state && newest?.state === state && newest.source === BY_SUPPORT
}
