import { v7 } from 'uuid'
import { Failure } from '../../errors.ts'
import { log } from '../../log.ts'
import type { Statements } from '../../op.ts'
import { KEPT, NO_LONGER_KEPT } from '../kept.ts'
import { accept, type Place, type Unfit } from './accept.ts'
import { type Delivery, readBody } from './delivery.ts'

/** A delivery that could not be stored. */
export interface DeadLetter {
  id: string
  provider_id: string
  event_id: string
  event_type: string
  reason: string
  attempts: number
  received_at: Date
  failed_at: Date
}

/** With where it stands in the list. */
export type Listed = DeadLetter & { position: string }
/** `present_type`: what the definition that it was held against is called now. */
type WithBody = DeadLetter & { body: Buffer; resolved_at: Date | null; present_type: string | null }

/** What became of a dead letter that was replayed. */
export type Replayed =
  | 'stored'
  | 'stored already'
  | 'of somebody who was erased'
  | 'no longer kept'
  | { failed: string }

/** After these nothing is left to replay. */
const GONE: readonly Replayed[] = ['of somebody who was erased', 'no longer kept']

/** Keeps a delivery with the reason, once per event id. */
export async function keepDeadLetter(
  { db, brandId, providerId }: Place,
  { eventId, type, raw }: Delivery,
  { unfit, definitionId, email, phone }: Unfit,
): Promise<void> {
  const reason = reasonOf(unfit)
  const row = [v7(), providerId, eventId, type, email, phone, reason, raw, definitionId]
  const { id, dropped } = await db.tx(async (tx) => ({
    ...(await tx.one<{ id: string }>('dead_letter_keep', row)),
    dropped: await tx.run('dead_letters_drop', [KEPT.bytes, KEPT.most, NO_LONGER_KEPT]),
  }))
  log('error', 'delivery_is_dead_letter', { dead_letter: id, provider_id: providerId, reason })
  if (dropped) log('warn', 'dead_letters_dropped', { brand_id: brandId, count: dropped })
}

const reasonOf = (sqlState: string) => `Postgres refused it (SQLSTATE ${sqlState})`

/** Those that wait, oldest first, after the given one. */
export const listDeadLetters = (db: Statements, after: Listed | null, limit: number): Promise<Listed[]> =>
  db.many<Listed>('dead_letters_page', [
    after?.position ?? '-infinity',
    after?.id ?? '00000000-0000-0000-0000-000000000000',
    limit,
  ])

/** One with its body; throws `not_found`. */
export const showDeadLetter = (db: Statements, id: string): Promise<WithBody> =>
  db.one<WithBody>('dead_letter_by_id', [id])

/**
 * Delivers a dead letter again, as if it came now, with the definition as it is now. A second replay, or one of an
 * event id that was accepted meanwhile, stores nothing; a letter about somebody who was erased meanwhile is removed, and so
 * is one whose body is no longer kept.
 */
export async function replayDeadLetter(place: Omit<Place, 'providerId'>, id: string): Promise<Replayed> {
  const { db } = place
  const letter = await showDeadLetter(db, id)
  if (letter.resolved_at !== null) return 'stored already'
  const outcome = await outcomeOf({ ...place, providerId: letter.provider_id }, letter)
  if (typeof outcome !== 'string') await db.run('dead_letter_failed', [id, outcome.failed])
  if (GONE.includes(outcome)) await db.run('dead_letter_remove', [id])
  return outcome
}

async function outcomeOf(place: Place, { body, received_at, present_type }: WithBody): Promise<Replayed> {
  if (body.length === 0) return 'no longer kept'
  try {
    const sent = readBody(body, received_at, new Date())
    const delivery = { ...sent, type: present_type ?? sent.type }
    const accepted = await accept(place, delivery)
    if ('unfit' in accepted) return { failed: reasonOf(accepted.unfit) }
    if ('erased' in accepted) return 'of somebody who was erased'
    if ('ok' in accepted) return 'stored'
    await place.db.run('dead_letter_resolve', [place.providerId, delivery.eventId])
    return 'stored already'
  } catch (error) {
    if (error instanceof Failure && error.beside.reason)
      return { failed: `${error.beside.reason}: ${error.message}` }
    throw error
  }
}
