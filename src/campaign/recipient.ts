import {
  type Channels,
  type ConsentChannel,
  type ConsentState,
  channelsOf,
  type FoundContact,
  upsertContact,
} from '../identity/contact.ts'
import type { Statements } from '../op.ts'
import type { SourceKind } from './trigger.ts'

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

/** A customer, by any of its ordinals, who is to be messaged about something. */
export interface Asked {
  id: string
  subject: number
  channel: ConsentChannel
  source_kind: SourceKind
  source_id: string
}

/** A contact, by the ordinal that the customer was asked for and its own one. */
type Theirs = Recipient & { asked: number; subject: number }

interface CustomerRow {
  place: number
  subject: number
  email: string | null
  phone: string | null
  first_name: string | null
  last_name: string | null
  told_email: string | null
  told_phone: string | null
}

const ADDRESS = { sms: 'phone', email: 'email' } as const satisfies Record<ConsentChannel, keyof Recipient>

/** Where messages of a channel go; null when there is no such address. */
export const addressOf = (recipient: Recipient, channel: ConsentChannel): string | null =>
  recipient[ADDRESS[channel]]

/** The one of a customer's contacts that has an address for a channel. */
const reachedBy = (contacts: readonly Theirs[], channel: ConsentChannel) =>
  contacts.find((one) => addressOf(one, channel) !== null)

/**
 * The contacts of customers for a channel, by what was asked, within a transaction of the brand: one that has an address
 * there, else any. An address that theirs lacks becomes its own first where it is one of now (`channels_of_customers`) and
 * nobody else's. Who has none gets one, of whatever is known; a customer without any channel has nobody.
 */
export async function recipientsOf(tx: Statements, asked: readonly Asked[]): Promise<Map<string, Recipient>> {
  if (asked.length === 0) return new Map()
  const theirs = await contactsOf(tx, [...new Set(asked.map(({ subject }) => subject))])
  const customers = await customersOf(
    tx,
    asked.filter(({ subject, channel }) => !reachedBy(theirs(subject), channel)),
  )
  const found = new Map<string, Recipient>()
  for (const one of asked) {
    const contacts = theirs(one.subject)
    const customer = customers.get(one.id)
    const lacks = customer && isAny(lackedBy(contacts, customer, one.channel))
    const recipient = lacks
      ? await joined(tx, one, customer)
      : (reachedBy(contacts, one.channel) ?? contacts[0])
    if (recipient) found.set(one.id, recipient)
  }
  return found
}

async function contactsOf(
  tx: Statements,
  subjects: readonly number[],
): Promise<(subject: number) => readonly Theirs[]> {
  const rows = await tx.many<Theirs>('recipients_of_customers', [subjects])
  const bySubject = Map.groupBy(rows, ({ asked }) => asked)
  return (subject) => bySubject.get(subject) ?? []
}

async function customersOf(tx: Statements, asked: readonly Asked[]): Promise<Map<string, CustomerRow>> {
  if (asked.length === 0) return new Map()
  const rows = await tx.many<CustomerRow>('channels_of_customers', [
    asked.map(({ subject }) => subject),
    asked.map(({ source_kind }) => source_kind),
    asked.map(({ source_id }) => source_id),
  ])
  return new Map(rows.map((row) => [(asked[row.place - 1] as Asked).id, row]))
}

/** What contacts of a customer could get: a contact's own other channel and names may be newer than the customer's. */
function lackedBy(
  contacts: readonly Theirs[],
  customer: CustomerRow,
  channel: ConsentChannel,
): Omit<FoundContact, 'subject'> {
  const { told_email: toldEmail, told_phone: toldPhone } = customer
  if (contacts.length)
    return {
      ...{ firstName: null, lastName: null },
      email: channel === 'email' ? toldEmail : null,
      phone: channel === 'sms' ? toldPhone : null,
    }
  return {
    ...{ firstName: customer.first_name, lastName: customer.last_name },
    email: toldEmail ?? customer.email,
    phone: toldPhone ?? customer.phone,
  }
}

const isAny = ({ email, phone }: Channels) => email !== null || phone !== null

/** The contact of a customer, with what it lacked unless that is no address or another contact has it; none where it has none. */
async function joined(
  tx: Statements,
  { subject, channel }: Asked,
  customer: CustomerRow,
): Promise<Recipient | undefined> {
  // Another run may have added to it since.
  const contacts = (await contactsOf(tx, [subject]))(subject)
  const reached = reachedBy(contacts, channel)
  if (reached) return reached
  const lacked = lackedBy(contacts, customer, channel)
  const channels = await channelsOf(tx, lacked)
  if (!isAny(channels)) return contacts[0]
  const owner = contacts[0]?.subject ?? customer.subject
  // What another contact has is not theirs to be messaged at.
  if ('conflict' in (await upsertContact(tx, { ...lacked, ...channels, subject: owner }))) return contacts[0]
  const now = (await contactsOf(tx, [subject]))(subject)
  return reachedBy(now, channel) ?? now[0]
}
