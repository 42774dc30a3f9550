import { v7 } from 'uuid'
import { persistently } from '../connect/store/persistently.ts'
import { fail } from '../errors.ts'
import { type ConsentChannel, channelsOf, linkContact, upsertContact } from '../identity/contact.ts'
import type { Db, Statements } from '../op.ts'
import { ending } from './advance.ts'
import { type ConversationRun, runOfConversation } from './locked-run.ts'
import { honour } from './opt-out.ts'
import { wishOf } from './opt-out-word.ts'
import { recordSteps } from './record-steps.ts'

/** A message that somebody sent to the brand. */
export interface Incoming {
  channel: ConsentChannel
  /** What the gateway calls it: the same one is taken once. */
  gatewayId: string
  /** Address or number. */
  from: string
  text: string
  /** By the clock of the gateway. */
  at: Date
}

export type Received = { conversationId: string; messageId: string } | { deduplicated: true }

/**
 * Takes a message: to the newest open conversation of its contact and channel, before others one in which something was
 * said to them, or a new one. A wish for no more messages goes to that of whoever had the address before, too, where
 * nobody has it now. It, and one for messages again, is honoured in the same transaction; all else the conversation's
 * run answers. Throws `bad_request` for a sender that is no address.
 */
export async function receiveMessage(db: Db, brandId: string, incoming: Incoming): Promise<Received> {
  const key = `${incoming.channel}:${incoming.gatewayId}`
  const take = async (tx: Statements): Promise<Received> => {
    if (await tx.maybe('message_of_key', [key])) return { deduplicated: true }
    const wants = wishOf(incoming.text)
    const { id: conversationId, contactId, address } = await conversationFor(tx, incoming, wants)
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
      await honour(tx, brandId, { conversationId, channel, wants, source, address, at })
    }
    return { conversationId, messageId }
  }
  // The same one, or another one of the same contact, may come at the same time.
  return await persistently(() => db.tx(take))
}

/** Who writes while the run waits is answered; the agent goes on for as long as they write. */
function isAnswered({ state, step, outcome, action_type }: ConversationRun): boolean {
  if (state === 'waiting') return step === 'wait'
  return action_type === 'agent' && (outcome === 'replied' || outcome === 'completed')
}

async function conversationFor(
  tx: Statements,
  { channel, from, at }: Incoming,
  wants: ReturnType<typeof wishOf>,
) {
  const given = channel === 'sms' ? { email: null, phone: from } : { email: from, phone: null }
  const { email, phone } = await channelsOf(tx, given)
  const address = email ?? phone
  if (address === null)
    throw fail('bad_request', channel === 'sms' ? 'from: must be a phone number' : 'from: must be an address')
  const open = await tx.maybe<{ id: string; contact_id: string }>('conversation_open', [
    channel,
    email,
    phone,
    wants === 'stop',
  ])
  if (open) return { id: open.id, contactId: open.contact_id, address }
  const contact = await upsertContact(tx, { subject: null, email, phone, firstName: null, lastName: null })
  if ('conflict' in contact) throw fail('conflict', 'The address belongs to several contacts.')
  await linkContact(tx, contact.contactId, { email, phone })
  const id = v7()
  await tx.run('conversation_begin', [id, contact.contactId, channel, at])
  return { id, contactId: contact.contactId, address }
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
