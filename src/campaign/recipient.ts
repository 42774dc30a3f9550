import { type ConsentChannel, type ConsentState, upsertContact } from '../identity/contact.ts'
import type { Statements } from '../op.ts'

/** Whom a message can go to. */
export interface Recipient {
  id: string
  email: string | null
  phone: string | null
  first_name: string | null
  last_name: string | null
  sms_consent: ConsentState
  email_consent: ConsentState
}

interface CustomerRow {
  subject: number
  email: string | null
  phone: string | null
  first_name: string | null
  last_name: string | null
}

const ADDRESS = { sms: 'phone', email: 'email' } as const satisfies Record<ConsentChannel, keyof Recipient>

/** Where messages of a channel go; null when there is no such address. */
export const addressOf = (recipient: Recipient, channel: ConsentChannel): string | null =>
  recipient[ADDRESS[channel]]

/** The one of a customer's contacts that has an address for a channel. */
export const reachedBy = <One extends Recipient>(
  contacts: readonly One[],
  channel: ConsentChannel,
): One | undefined => contacts.find((one) => addressOf(one, channel) !== null)

/**
 * The contact of a customer (by any of its ordinals) for a channel, within a transaction of the brand: one that has
 * an address there, else any. What only the customer has goes to their contact first, which is made where there is none;
 * null for a customer without any.
 */
export async function recipientOf(
  tx: Statements,
  subject: number,
  channel: ConsentChannel,
): Promise<Recipient | null> {
  const contacts = await tx.many<Recipient>('recipients_of_customer', [subject])
  const known = reachedBy(contacts, channel)
  if (known) return known
  const [any = null] = contacts
  const customer = await tx.maybe<CustomerRow>('channels_of_customer', [subject])
  if (!customer) return any
  const { email, phone, first_name: firstName, last_name: lastName } = customer
  // A contact's own address and names may be newer than the customer's.
  const found = any
    ? { ...NOTHING, [ADDRESS[channel]]: customer[ADDRESS[channel]] }
    : { email, phone, firstName, lastName }
  if (found.email === null && found.phone === null) return any
  const made = await upsertContact(tx, { subject: customer.subject, ...found })
  // What another contact has is not theirs to be messaged at.
  if ('conflict' in made) return any
  const now = await tx.many<Recipient>('recipients_of_customer', [subject])
  return reachedBy(now, channel) ?? now[0] ?? null
}

const NOTHING = { email: null, phone: null, firstName: null, lastName: null }
