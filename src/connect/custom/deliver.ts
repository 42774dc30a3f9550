import { type Accepted, accept, type Place } from './accept.ts'
import { keepDeadLetter } from './dead-letter.ts'
import type { Delivery } from './delivery.ts'

/** What is answered with 200. */
export type Delivered = Accepted | { ok: false; reason: 'dead_letter'; message: string }

/** As `accept`, but keeps what cannot be stored as a dead letter. */
export async function deliver(place: Place, delivery: Delivery): Promise<Delivered> {
  const accepted = await accept(place, delivery)
  if ('erased' in accepted) return { deduplicated: true }
  if (!('unfit' in accepted)) return accepted
  await keepDeadLetter(place, delivery, accepted)
  return {
    ok: false,
    reason: 'dead_letter',
    message: `The event could not be processed and is kept for inspection. Do not send it again; contact support with the event id ${delivery.eventId}.`,
  }
}
