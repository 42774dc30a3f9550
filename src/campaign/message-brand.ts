import type { Brand, Statements } from '../op.ts'
import type { ConsentRule, Policy } from './gate.ts'

interface Row extends Brand {
  quiet_from: string
  quiet_until: string
  cap_messages: number
  cap_days: number
  attribution_days: number
  sms_consent: ConsentRule
  email_consent: ConsentRule
  silent_until: Date | null
  resumed_at: Date | null
}

/** A brand and its rules for messages. */
export async function messageBrand(db: Pick<Statements, 'one'>): Promise<{ brand: Brand; policy: Policy }> {
  const row = await db.one<Row>('message_brand')
  const {
    quiet_from,
    quiet_until,
    cap_messages,
    cap_days,
    attribution_days,
    sms_consent,
    email_consent,
    silent_until,
    resumed_at,
    ...brand
  } = row
  return {
    brand,
    policy: {
      timezone: brand.timezone,
      quiet: { from: quiet_from, until: quiet_until },
      cap: { messages: cap_messages, days: cap_days },
      attributionDays: attribution_days,
      consent: { sms: sms_consent, email: email_consent },
      silentUntil: silent_until,
      resumedAt: resumed_at,
    },
  }
}
