import { hash } from 'node:crypto'
import { v7 } from 'uuid'
import type { Place } from '../connect/custom/accept.ts'
import { fail } from '../errors.ts'
import {
  type Channels,
  type ConsentChannel,
  channelsOf,
  linkContact,
  setConsent,
  upsertContact,
} from '../identity/contact.ts'
import { erasedAmong } from '../identity/subject.ts'
import type { Statements } from '../op.ts'
import { persistently } from '../store/persistently.ts'
import { ending } from './advance.ts'
import { type ConversationRun, runOfConversation } from './locked-run.ts'
import { honour } from './opt-out.ts'
import { wishOf } from './opt-out-word.ts'
import { recordSteps } from './record-steps.ts'

/** A message that somebody sent to the brand. */
export interface Incoming {
  channel: ConsentChannel
  /** What the gateway calls it. The same one, of the same sender and words, is taken once. */
  gatewayId: string
  /** Address or number. */
  from: string
  text: string
  /** By the clock of the gateway. */
  at: Date
  /** The same, however long ago, where that is not `at`: whether it is from before an erasure. */
  saidAt?: Date
}

interface Sender extends Channels {
  address: string
}

interface Open {
  id: string
  contact_id: string
}

export type Received =
  | { conversationId: string; messageId: string }
  | { deduplicated: true }
  /** It is of somebody who was erased since: nothing is kept. */
  | { erased: true }

/**
 * Takes a message: to the newest open conversation of its contact and channel, before others one in which something was
 * said to them, or a new one. A wish for no more messages goes to that of whoever had the address before, too, where
 * nobody has it now. It, and one for messages again, is honoured in the same transaction; all else the conversation's
 * run answers. Of what was said before its sender was erased only a wish for no more messages is heard, for who has the
 * address now. Throws `bad_request` for a sender that is no address.
 */
export async function receiveMessage(
  { db, brandId, storePlatformDomain }: Pick<Place, 'db' | 'brandId' | 'storePlatformDomain'>,
  incoming: Incoming,
): Promise<Received> {
  const key = keyOf(incoming)
  const wants = wishOf(incoming.text)
  const take = async (tx: Statements): Promise<Received> => {
    if (await tx.maybe('message_of_key', [key, keyOfBefore(incoming), incoming.text]))
      return { deduplicated: true }
    const sender = await senderOf(tx, incoming)
    const { at: seenAt, saidAt } = incoming
    const named = { email: sender.email ?? undefined, phone: sender.phone ?? undefined, seenAt, saidAt }
    const [erasedAt] = await erasedAmong(tx, brandId, [named], { storePlatformDomain })
    if (erasedAt) {
      if (wants === 'stop') await stopHolder(tx, brandId, incoming, sender)
      return { erased: true }
    }
    const { id: conversationId, contactId } = await conversationFor(tx, incoming, sender, wants)
    // Before the contact, in the order in which the runner locks them.
    const run = await runOfConversation(tx, conversationId)
    const messageId = v7()
    const { channel, text, gatewayId } = incoming
    const { at } = await tx.one<{ at: Date }>('conversation_heard_at', [conversationId, incoming.at])
    await tx.run('message_receive', [
      ...[messageId, conversationId, contactId, key, channel, at, text, gatewayId],
    ])
    await tx.run('conversations_touch', [[conversationId], at])
    if (wants === 'stop' && run?.state === 'waiting') await stopRun(tx, run, conversationId, at)
    if (wants === null && run && isAnswered(run)) await tx.run('run_reply', [run.id, at])
    if (wants !== null) {
      const source = 'reply'
      const { address } = sender
      await honour(tx, brandId, { conversationId, channel, wants, source, address, at })
    }
    return { conversationId, messageId }
  }
  // The same one, or another one of the same contact, may come at the same time.
  return await persistently(() => db.tx(take))
}

/** Ids come again for other messages where a gateway is replaced, or counts them anew. */
function keyOf({ channel, gatewayId, from, text }: Incoming): string {
  return `${channel}:${gatewayId}:${hash('sha256', JSON.stringify([from, text]))}`
}

/** Of messages that a version took which went by the gateway's id alone. */
const keyOfBefore = ({ channel, gatewayId }: Incoming) => `${channel}:${gatewayId}`

/** Who writes while the run waits is answered; the agent goes on for as long as they write, however the run ended. */
function isAnswered({ state, step, action_type, has_said }: ConversationRun): boolean {
  return state === 'waiting' ? step === 'wait' : action_type === 'agent' && has_said
}

async function senderOf(tx: Statements, { channel, from }: Incoming): Promise<Sender> {
  const given = channel === 'sms' ? { email: null, phone: from } : { email: from, phone: null }
  const { email, phone } = await channelsOf(tx, given)
  const address = email ?? phone
  if (address === null)
    throw fail('bad_request', channel === 'sms' ? 'from: must be a phone number' : 'from: must be an address')
  return { email, phone, address }
}

async function stopHolder(
  tx: Statements,
  brandId: string,
  { channel, at }: Incoming,
  { email, phone, address }: Sender,
): Promise<void> {
  const source = 'reply'
  await tx.run('refusal_keep', [channel, address, at])
  const open = await tx.maybe<Open>('conversation_open', [channel, email, phone, true])
  if (open) {
    const heard = await tx.one<{ at: Date }>('conversation_heard_at', [open.id, at])
    const wish = { conversationId: open.id, channel, wants: 'stop', source, address, at: heard.at } as const
    await honour(tx, brandId, wish)
    return
  }
  const [holder] = await tx.many<{ id: string }>('contacts_like', [email, phone, null])
  if (holder) await setConsent(tx, holder.id, channel, 'unsubscribed', source, at, address)
}

async function conversationFor(
  tx: Statements,
  { channel, at }: Incoming,
  { email, phone }: Sender,
  wants: ReturnType<typeof wishOf>,
) {
  const findOpen = () => tx.maybe<Open>('conversation_open', [channel, email, phone, wants === 'stop'])
  const open = await findOpen()
  if (open) return { id: open.id, contactId: open.contact_id }
  const contact = await upsertContact(tx, { subject: null, email, phone, firstName: null, lastName: null })
  if ('conflict' in contact) throw fail('conflict', 'The address belongs to several contacts.')
  await linkContact(tx, contact.contactId, { email, phone })
  // Another message of theirs, for which this one waited, may have begun one.
  const begun = await findOpen()
  if (begun) return { id: begun.id, contactId: begun.contact_id }
  const id = v7()
  await tx.run('conversation_begin', [id, contact.contactId, channel, at])
  return { id, contactId: contact.contactId }
}

async function stopRun(
  tx: Statements,
  run: ConversationRun,
  conversationId: string,
  at: Date,
): Promise<void> {
  const { steps, next } = ending('opted_out')
  await recordSteps(
    tx,
    steps.map((step) => ({ ...step, runId: run.id, ordinal: run.ordinal, conversationId })),
    at,
  )
  await tx.run('runs_end', [at, [run.id], ['outcome' in next ? next.outcome : null]])
}
