import { v7 } from 'uuid'
import { appendEvent } from '../event/append.ts'
import { type ConsentChannel, takeBackRefusals, toldConsent } from '../identity/contact.ts'
import type { Db, Statements } from '../op.ts'
import { whomOf } from './whom.ts'

/** Refusals of a contact that were a mistake. */
export interface Mistake {
  conversationId: string
  channel: ConsentChannel
  /** Where they were said. */
  source: string
  since: Date
  at: Date
}

/** Ends a transaction of which nothing is to stay. */
class NothingStays extends Error {}

/**
 * Takes back what a contact refused by one source, so that what was said before and elsewhere holds. False: it would be
 * refused all the same, or is not, and nothing was changed.
 */
export async function takeBack(db: Db, brandId: string, mistake: Mistake): Promise<boolean> {
  return await unlessNothing(() =>
    db.tx(async (tx) => {
      const { contactId, identifiers, state, refusedAt } = await take(tx, mistake)
      const { conversationId, channel } = mistake
      await tx.run('short_links_taken_back', [conversationId, true])
      await tx.run('conversations_opted_in', [contactId, channel, refusedAt.map((at) => at.toISOString())])
      await appendEvent(tx, brandId, {
        event_type: 'consent_updated',
        event_id: `consent_updated:${v7()}`,
        occurred_at: mistake.at.getTime(),
        ...identifiers,
        properties: { channel, state: toldConsent(state), conversation_id: conversationId },
      })
    }),
  )
}

/** Whether `takeBack` would change anything. */
export async function mayTakeBack(db: Db, mistake: Mistake): Promise<boolean> {
  let may = false
  await unlessNothing(() =>
    db.tx(async (tx) => {
      await take(tx, mistake)
      may = true
      throw new NothingStays()
    }),
  )
  return may
}

async function unlessNothing(work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (error instanceof NothingStays) return false
    throw error
  }
}

async function take(tx: Statements, { conversationId, channel, source, since }: Mistake) {
  const whom = await whomOf(tx, conversationId)
  if (whom.contactId === null) throw new NothingStays()
  const taken = await takeBackRefusals(tx, whom.contactId, channel, source, since)
  if (taken === null) throw new NothingStays()
  return { ...whom, ...taken }
}
