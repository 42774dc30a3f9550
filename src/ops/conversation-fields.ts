import * as v from 'valibot'
import { REASONS, type ReasonCode } from '../campaign/reason.ts'
import { currencyCode, id, money, named, time } from '../fields.ts'

/** Conversations and messages as REST shows them. */

const someId = v.nullable(id)
const someText = v.nullable(v.string())
const someTime = v.nullable(time)

export const CHANNELS = ['sms', 'email'] as const
export const CONVERSATION_STATUSES = ['open', 'closed'] as const

const CONVERSATION = {
  id,
  contact_id: someId,
  campaign_id: someId,
  status: v.picklist(CONVERSATION_STATUSES),
  channel: v.picklist(CHANNELS),
  checkout: v.nullable(
    v.object({
      id,
      state: v.picklist(['open', 'abandoned', 'recovered', 'completed']),
      total: money,
      currency_code: currencyCode,
      url: someText,
    }),
  ),
  goal: v.nullable(
    v.object({
      state: v.picklist(['pending', 'recovered', 'expired']),
      order_id: someId,
      recovered_amount: v.nullable(money),
      currency_code: v.nullable(currencyCode),
    }),
  ),
  last_message_at: someTime,
  created_at: time,
  updated_at: time,
}

export const Conversation = named('Conversation', CONVERSATION)

export const FoundConversation = named('FoundConversation', {
  ...CONVERSATION,
  match: v.object({ message_id: id, body: v.string(), created_at: time }),
})

type Shown = v.InferOutput<typeof Conversation>
type Checkout = NonNullable<Shown['checkout']>

/** A row of conversation_shown. */
export interface ConversationRow
  extends Pick<Shown, 'id' | 'contact_id' | 'campaign_id' | 'status' | 'channel'> {
  goal_until: Date | null
  last_message_at: Date | null
  created_at: Date
  updated_at: Date
  checkout_id: string | null
  checkout_state: Checkout['state']
  checkout_total: string
  checkout_currency_code: string
  checkout_url: string | null
  order_id: string | null
  recovered_amount: string | null
  recovered_currency_code: string | null
}

export const conversationOf = (row: ConversationRow, now: Date): Shown => ({
  id: row.id,
  contact_id: row.contact_id,
  campaign_id: row.campaign_id,
  status: row.status,
  channel: row.channel,
  checkout: row.checkout_id === null ? null : checkoutOf(row, row.checkout_id),
  goal: goalOf(row, now),
  last_message_at: row.last_message_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

const checkoutOf = (row: ConversationRow, checkoutId: string): Checkout => ({
  id: checkoutId,
  state: row.checkout_state,
  total: row.checkout_total,
  currency_code: row.checkout_currency_code,
  url: row.checkout_url,
})

function goalOf(row: ConversationRow, now: Date): Shown['goal'] {
  const { order_id, recovered_amount, recovered_currency_code: currency_code, goal_until } = row
  if (order_id !== null) return { state: 'recovered', order_id, recovered_amount, currency_code }
  if (goal_until === null) return null
  const state = goal_until < now ? 'expired' : 'pending'
  return { state, order_id: null, recovered_amount: null, currency_code: null }
}

export const Message = named('Message', {
  id,
  conversation_id: id,
  direction: v.picklist(['outbound', 'inbound']),
  author: v.picklist(['campaign', 'agent', 'contact', 'system']),
  channel: v.picklist(CHANNELS),
  body: v.string(),
  status: v.picklist(['queued', 'sent', 'delivered', 'failed', 'received']),
  error: someText,
  created_at: time,
  sent_at: someTime,
  delivered_at: someTime,
})

type ShownMessage = v.InferOutput<typeof Message>

export interface MessageRow extends Omit<ShownMessage, 'created_at' | 'sent_at' | 'delivered_at'> {
  reason: string | null
  created_at: Date
  sent_at: Date | null
  delivered_at: Date | null
}

export const messageOf = ({ reason, error, ...row }: MessageRow): ShownMessage => ({
  id: row.id,
  conversation_id: row.conversation_id,
  direction: row.direction,
  author: row.author,
  channel: row.channel,
  body: row.body,
  status: row.status,
  error: row.status === 'failed' ? (error ?? labelOf(reason)) : null,
  created_at: row.created_at.toISOString(),
  sent_at: row.sent_at?.toISOString() ?? null,
  delivered_at: row.delivered_at?.toISOString() ?? null,
})

const labelOf = (reason: string | null): string | null =>
  reason !== null && reason in REASONS ? REASONS[reason as ReasonCode].label : null
