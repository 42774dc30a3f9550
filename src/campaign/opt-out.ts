import { v7 } from 'uuid'
import { appendEvent } from '../event/append.ts'
import { type ConsentChannel, setConsent } from '../identity/contact.ts'
import type { Statements } from '../op.ts'
import { whomOf } from './whom.ts'

/** Somebody's word on being messaged, in a conversation. */
export interface Wish {
  conversationId: string
  channel: ConsentChannel
  wants: 'stop' | 'start'
  /** Where it was said, for the history of the consent. */
  source: string
  /** That it came from, normalised; absent: the one that the contact has. */
  address?: string
  at: Date
}

/**
 * Honours a wish at once, within a transaction of the brand: consent with its history, the conversation, and the event
 * `consent_updated`. False: the contact is erased, and there is nobody left to honour it for.
 */
export async function honour(
  tx: Statements,
  brandId: string,
  { conversationId, channel, wants, source, address, at }: Wish,
): Promise<boolean> {
  const whom = await whomOf(tx, conversationId)
  if (whom.contactId === null) return false
  const state = wants === 'stop' ? 'unsubscribed' : 'subscribed'
  if (!(await setConsent(tx, whom.contactId, channel, state, source, at, address))) return false
  await tx.run('conversation_opted_out', [conversationId, wants === 'stop' ? at : null])
  await appendEvent(tx, brandId, {
    event_type: 'consent_updated',
    event_id: `consent_updated:${v7()}`,
    occurred_at: at.getTime(),
    ...whom.identifiers,
    properties: { channel, state, conversation_id: conversationId },
  })
  return true
}
