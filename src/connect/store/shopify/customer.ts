import type { Fields } from '../fields.ts'
import {
  type Batch,
  batchOf,
  type Channel,
  type ConsentRecord,
  type ConsentState,
  EMPTIABLE,
  type Person,
} from '../record.ts'
import { versionOf } from './order.ts'

const CHANNELS: readonly Channel[] = ['email', 'sms']
const FIELD = { email: 'email', phone: 'phone', firstName: 'first_name', lastName: 'last_name' } as const

/** A customer as webhooks carry it, with the consents inside it. */
export function readCustomer(fields: Fields, triggeredAt: string): Batch {
  const externalId = fields.id('id')
  const person: Person = {
    storeCustomerId: externalId,
    email: fields.text('email') ?? undefined,
    phone: fields.text('phone') ?? undefined,
    firstName: fields.text('first_name') ?? undefined,
    lastName: fields.text('last_name') ?? undefined,
  }
  const version = versionOf(fields, triggeredAt)
  return batchOf({
    customers: [
      {
        externalId,
        version,
        person,
        says: EMPTIABLE.filter((field) => fields.says(FIELD[field])),
        tags: fields.says('tags') ? fields.separated('tags') : null,
        createdAt: fields.timeOrNull('created_at') ?? version.updatedAt,
      },
    ],
    consents: CHANNELS.flatMap((channel) => consentOf(fields, channel, person, triggeredAt)),
  })
}

/**
 * Consent as `customers_marketing_consent/update` (messages) and `customers_email_marketing_consent/update` carry it:
 * the customer's id and address beside it.
 */
export function readConsent(fields: Fields, triggeredAt: string): Batch {
  const storeCustomerId = fields.id(fields.has('customer_id') ? 'customer_id' : 'id')
  const person: Person = {
    storeCustomerId,
    email: fields.text('email_address') ?? fields.text('email') ?? undefined,
    phone: fields.text('phone') ?? undefined,
  }
  return batchOf({ consents: CHANNELS.flatMap((channel) => consentOf(fields, channel, person, triggeredAt)) })
}

function consentOf(
  fields: Fields,
  channel: Channel,
  person: Person,
  triggeredAt: string,
): ConsentRecord | never[] {
  const said = fields.object(`${channel}_marketing_consent`)
  const state = said?.text('state')?.toLowerCase()
  if (!said || !state) return []
  const decidedAt = said.timeOrNull('consent_updated_at')
  const { updatedAt, undated } = versionOf(fields, triggeredAt)
  return {
    storeCustomerId: person.storeCustomerId ?? '',
    person,
    channel,
    state: consentState(state),
    at: decidedAt ?? fields.timeOrNull('created_at') ?? triggeredAt,
    ...(decidedAt === null ? { undatedAt: updatedAt, undated } : { undatedAt: null }),
  }
}

export function consentState(platform: string): ConsentState {
  if (platform === 'subscribed' || platform === 'pending') return platform
  return ['unsubscribed', 'redacted', 'invalid'].includes(platform) ? 'unsubscribed' : 'unknown'
}
