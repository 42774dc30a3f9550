import { v7 } from 'uuid'
import { abreast } from '../abreast.ts'
import { heldLease } from '../access/lease.ts'
import type { Seal } from '../access/seal.ts'
import { isUnavailable } from '../errors.ts'
import type { ConsentChannel } from '../identity/contact.ts'
import { errorFields, log } from '../log.ts'
import type { Db, Statements } from '../op.ts'
import type { Postgres } from '../store/postgres.ts'
import type { Channel, Sent } from './channel.ts'
import { type ChannelRow, channelOfRow, channelRow } from './channel-settings.ts'
import { LINK_PATH } from './link.ts'
import { messageBrand } from './message-brand.ts'
import { addressIn, type HeldMessage, heldBack, settle, settlementOf } from './settle.ts'

export interface SenderParts {
  postgres: Postgres
  seal: Pick<Seal, 'open'>
  /** Public origin of the service. */
  baseUrl: string
  /** How messages of a channel leave, in place of what its row says; for tests. */
  open?(row: ChannelRow | undefined, brandId: string): Channel | null
  /** Cuts off what is under way. */
  signal?: AbortSignal
  /** Lets it end, and nothing more is begun. */
  stopping?: AbortSignal
}

export const isStopped = ({ signal, stopping }: Pick<SenderParts, 'signal' | 'stopping'>): boolean =>
  signal?.aborted === true || stopping?.aborted === true

/** Messages of a channel of a brand. */
export interface Queue {
  brand_id: string
  channel: ConsentChannel
  /** It has just had a turn; null: the next one may be taken. */
  next_turn_at: Date | null
}

/** Messages of one transaction that stay in the embedded outbox, and such transactions at the same time. */
const KEPT_AT_ONCE = 250
const KEPT_ABREAST = 4
/** A claim is anybody's again after this long; each attempt begins it anew. */
const LEASE_MS = 300_000
/** An attempt that has not begun so long before its claim ends is left to whoever takes the message then. */
const MARGIN_MS = 60_000
/** What a turn has not begun after this long is left for the next one: neither claims nor the job's time may end before. */
const LONGEST_TURN_MS = 30_000
/** Attempts of one channel at the same time. */
const ABREAST = 8

/** Queues with messages that are due. */
export const dueQueues = ({ postgres }: Pick<SenderParts, 'postgres'>, now: Date): Promise<Queue[]> =>
  postgres.pipeline.many<Queue>('message_queues_due', [now])

/** Sends what is due of a queue, at its rate. Resolves with how many messages were looked at. */
export async function sendQueue(parts: SenderParts, queue: Queue, now: () => Date): Promise<number> {
  return await takeTurn(parts, queue, now).catch((error: unknown) => {
    if (isUnavailable(error)) throw error
    log('error', 'send_failed', { brand_id: queue.brand_id, ...errorFields(error) })
    return 0
  })
}

async function takeTurn(parts: SenderParts, { brand_id: brandId, channel }: Queue, now: () => Date) {
  const db = parts.postgres.forBrand(brandId)
  const row = await channelRow(db, channel)
  const open = parts.open ?? ((given, brand) => channelOfRow(given, parts.seal, brand))
  const opened = open(row, brandId)
  if (opened === null) return await keepAll(db, channel, now, parts)
  try {
    const turn = row
      ? await db.maybe<{ messages_per_second: number }>('message_channel_turn', [channel, now()])
      : { messages_per_second: KEPT_AT_ONCE }
    if (!turn) return 0
    const claim = v7()
    const until = new Date(now().getTime() + LEASE_MS)
    const claimed = await db.tx(async (tx) => {
      const taken = await take(tx, channel, now(), turn.messages_per_second)
      if (taken.length > 0) await tx.run('messages_claim', [taken, claim, until])
      return taken
    })
    const ends = performance.now() + LONGEST_TURN_MS
    let isSilent = false
    const left = new Set(claimed)
    try {
      await abreast(claimed, ABREAST, async (id) => {
        // Where there is no answer each of them would wait as long.
        if (isSilent || isStopped(parts) || performance.now() > ends) return
        left.delete(id)
        if (isUnanswered(await sendOne(db, opened, { claim, id }, now, parts))) isSilent = true
      })
    } finally {
      if (left.size > 0) await db.run('messages_release', [claim, [...left]])
    }
    return claimed.length - left.size
  } finally {
    await opened.close?.()
  }
}

const isUnanswered = (sent: Sent | null) =>
  sent?.is === 'unknown' || (sent?.is === 'later' && sent.unanswered === true)

/** The embedded outbox: what may leave is there to be read. */
async function keepAll(
  db: Db,
  channel: ConsentChannel,
  now: () => Date,
  parts: SenderParts,
): Promise<number> {
  let looked = 0
  await abreast(Array.from({ length: KEPT_ABREAST }), KEPT_ABREAST, async () => {
    for (let kept = KEPT_AT_ONCE; kept === KEPT_AT_ONCE && !isStopped(parts); looked += kept)
      kept = await keep(db, channel, now())
  })
  return looked
}

/** Ids of messages that are due, locked until the transaction ends. */
async function take(tx: Statements, channel: ConsentChannel, now: Date, most: number): Promise<string[]> {
  const taken = await tx.many<{ id: string }>('messages_take', [channel, now, most])
  return taken.map(({ id }) => id)
}

async function keep(db: Db, channel: ConsentChannel, now: Date): Promise<number> {
  return await db.tx(async (tx) => {
    const taken = await take(tx, channel, now, KEPT_AT_ONCE)
    if (taken.length === 0) return 0
    const { policy } = await messageBrand(tx)
    const messages = await tx.many<HeldMessage>('messages_held', [taken, null])
    const held = messages.map((message) => ({ message, barred: heldBack(message, policy, now) }))
    await inHand(
      tx,
      held.flatMap(({ message, barred }) => (barred ? [] : [message])),
      now,
    )
    const kept = { is: 'sent', providerMessageId: null } as const
    await settle(
      tx,
      held.map(({ message, barred }) => barred ?? settlementOf(message, kept, now)),
      now,
    )
    return taken.length
  })
}

/** From here on they may have been sent, to where they go now. */
const inHand = (tx: Statements, messages: readonly HeldMessage[], now: Date): Promise<number> =>
  tx.run('messages_begun', [
    messages.map(({ id }) => id),
    messages.map(addressIn),
    now,
    new Date(now.getTime() + LEASE_MS),
  ])

/**
 * One attempt; null: the message may not leave now. That a channel has a message in hand is committed before it gets it:
 * a sender that dies then leaves a message of which it is not known whether it was taken.
 */
async function sendOne(
  db: Db,
  channel: Channel,
  { claim, id }: { claim: string; id: string },
  now: () => Date,
  { baseUrl, signal }: SenderParts,
): Promise<Sent | null> {
  const lease = heldLease(LEASE_MS - MARGIN_MS)
  lease.renewed(lease.mark())
  const begunAt = now()
  const message = await begin(db, channel, { claim, id }, begunAt)
  if (!message) return null
  // A process that was frozen since may be the only one that does not know that another one sent it, or they said no.
  if (!lease.held) {
    await db.run('message_never_given', [claim, id, begunAt, message.begun_at])
    return null
  }
  const sent = await channel
    .send(
      {
        id,
        key: message.idempotency_key,
        channel: message.channel,
        to: addressIn(message) ?? '',
        headline: message.headline,
        body: message.body,
        optOutUrl: message.opt_out_code && `${baseUrl}${LINK_PATH}${message.opt_out_code}`,
      },
      signal,
    )
    .catch((error: unknown): Sent => {
      if (signal?.aborted) throw error
      const text = error instanceof Error ? error.message : String(error)
      return channel.takesOnce === 'by_key' ? { is: 'later', error: text } : { is: 'unknown', error: text }
    })
  await db.tx(async (tx) => {
    const [held] = await tx.many<HeldMessage>('messages_held', [[id], claim])
    // Another sender may have taken over a claim that ended, or the contact was erased.
    if (held) await settle(tx, [settlementOf({ ...held, attempts: message.attempts }, sent, now())], now())
  })
  return sent
}

/** Why nobody can tell whether a message has been sent. */
function unknowable(
  { begun_at, gateway_replaced }: HeldMessage,
  takesOnce: Channel['takesOnce'],
): string | undefined {
  if (gateway_replaced) return 'The gateway that may have it was replaced.'
  if (begun_at !== null && takesOnce === 'never_again')
    return 'The sender was stopped while it sent the message.'
  return undefined
}

/** The message when it may leave now; what keeps it from that is written. */
async function begin(
  db: Db,
  { takesOnce }: Channel,
  { claim, id }: { claim: string; id: string },
  now: Date,
): Promise<HeldMessage | null> {
  return await db.tx(async (tx) => {
    const [message] = await tx.many<HeldMessage>('messages_held', [[id], claim])
    if (!message) return null
    const { policy } = await messageBrand(tx)
    const error = unknowable(message, takesOnce)
    const settlement = error
      ? settlementOf(message, { is: 'unknown', error }, now)
      : heldBack(message, policy, now)
    if (settlement) {
      await settle(tx, [settlement], now)
      return null
    }
    await inHand(tx, [message], now)
    return message
  })
}
