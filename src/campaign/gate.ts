import type { ConsentChannel, ConsentState } from '../identity/contact.ts'
import { DAY_MS } from '../time.ts'
import { type QuietHours, quietUntilInAll } from './quiet.ts'
import { zonesOf } from './zone.ts'

/** Whom campaigns may message over a channel: only who agreed, or everybody who has not refused. */
export const CONSENT_RULES = ['required', 'not-refused'] as const
export type ConsentRule = (typeof CONSENT_RULES)[number]

/** Rules of a brand for its campaign messages. */
export interface Policy {
  /** Of contacts whose number says no country, or the brand's, which has several times. */
  timezone: string
  quiet: QuietHours
  cap: { messages: number; days: number }
  attributionDays: number
  consent: Record<ConsentChannel, ConsentRule>
  /** Until when it is waited for what the store sold while nobody listened; null: it is not. */
  silentUntil: Date | null
  /** When somebody last began to do the jobs of the service after a time in which nobody had. */
  resumedAt: Date | null
}

/** Somebody who may be messaged, as it is known at the moment of the message. */
export interface Addressee {
  sms_consent: ConsentState
  email_consent: ConsentState
  phone: string | null
}

/** Why a message must not leave now: never, or not before an instant. */
export type Barrier =
  | { reason: 'already_bought' | 'opted_out' | 'no_consent' | 'too_late'; until: null }
  | { reason: 'store_awaited' | 'quiet_hours'; until: Date }

/** What happened longer ago is nothing to write to anybody about. */
const LATEST_MS = 3 * DAY_MS

/** A message that somebody may be sent. */
export interface Intended {
  channel: ConsentChannel
  /** When it was to leave, by its campaign. */
  dueAt: Date
  /** When its customer bought since the trigger; null: not yet. */
  boughtAt: Date | null
}

/** What a message of a campaign has to stop at, when it is written and again when it leaves. */
export function barrierTo(
  contact: Addressee,
  { channel, dueAt, boughtAt }: Intended,
  policy: Policy,
  now: Date,
): Barrier | null {
  if (boughtAt !== null) return { reason: 'already_bought', until: null }
  if (hasOptedOut(contact, channel)) return { reason: 'opted_out', until: null }
  if (lacksConsent(contact, channel, policy)) return { reason: 'no_consent', until: null }
  if (now.getTime() - dueAt.getTime() > LATEST_MS) return { reason: 'too_late', until: null }
  const { silentUntil } = policy
  if (silentUntil !== null && silentUntil > now) return { reason: 'store_awaited', until: silentUntil }
  const until = quietUntilInAll(now, zonesOf(contact.phone, policy.timezone), policy.quiet)
  return until && { reason: 'quiet_hours', until }
}

/** Whom it concerns what was said last, also for answers. */
export const hasOptedOut = (contact: Addressee, channel: ConsentChannel): boolean =>
  consentOf(contact, channel) === 'unsubscribed'

function lacksConsent(contact: Addressee, channel: ConsentChannel, policy: Policy): boolean {
  const consent = consentOf(contact, channel)
  return consent === 'pending' || (policy.consent[channel] === 'required' && consent !== 'subscribed')
}

const consentOf = (contact: Addressee, channel: ConsentChannel): ConsentState =>
  channel === 'sms' ? contact.sms_consent : contact.email_consent
