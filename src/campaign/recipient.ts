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
  /** Null: the brand's counts. */
  timezone: string | null
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

/**
 * The contact of a customer (by any of its ordinals) for a channel, within a transaction of the brand: one that has
 * an address there, else any. Made of the customer's own channels where there is none; null for a customer without any.
 */
export async function recipientOf(
  tx: Statements,
  subject: number,
  channel: ConsentChannel,
): Promise<Recipient | null> {
  const found = await tx.many<Recipient>('recipients_of_customer', [subject])
  const known = found.find((one) => addressOf(one, channel) !== null) ?? found[0]
  if (known) return known
  const customer = await tx.maybe<CustomerRow>('channels_of_customer', [subject])
  if (!customer || (customer.email === null && customer.phone === null)) return null
  const { email, phone, first_name: firstName, last_name: lastName } = customer
  const made = await upsertContact(tx, { subject: customer.subject, email, phone, firstName, lastName })
  // What another contact has is not theirs to be messaged at.
  if ('conflict' in made) return null
  const [contact] = await tx.many<Recipient>('recipients_of_customer', [subject])
  return contact ?? null
}
