import type { Brand, Statements } from '../op.ts'
import type { Policy } from './gate.ts'

interface Row extends Brand {
  quiet_from: string
  quiet_until: string
  cap_messages: number
  cap_days: number
  attribution_days: number
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
      silentUntil: silent_until,
      resumedAt: resumed_at,
    },
  }
}
