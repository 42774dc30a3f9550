import { fail } from '../errors.ts'
import type { ConsentChannel } from '../identity/contact.ts'
import type { Db } from '../op.ts'
import { runOfConversation } from './locked-run.ts'
import { recordSteps } from './record-steps.ts'

/** What a gateway says about a message that it took, by its own id for it or by ours (the key of its attempts). */
export interface DeliveryWord {
  channel: ConsentChannel
  gatewayId: string | null
  key: string | null
  /** Null: it arrived. */
  error: string | null
  at: Date
}

const RETRY = { headers: { 'retry-after': '2' } }

interface Told {
  id: string
  conversation_id: string
  error: string | null
}

/**
 * Notes what became of a message; false when there is none of these ids that it could be said of. Throws `unavailable`
 * where it may be one whose id is not known yet: gateways tell sooner than their answer is read.
 */
export async function noteDelivery(
  db: Db,
  { channel, gatewayId, key, error, at }: DeliveryWord,
): Promise<boolean> {
  const hasFailed = error !== null
  return await db.tx(async (tx) => {
    const args = [channel, at, gatewayId, key]
    const rows = hasFailed
      ? await tx.many<Told>('message_undelivered', [...args, error])
      : await tx.many<Told>('message_delivered', args)
    for (const { id, conversation_id: conversationId, error } of rows) {
      const run = await runOfConversation(tx, conversationId)
      if (!run) continue
      const place = { runId: run.id, ordinal: run.ordinal, conversationId, messageId: id }
      const step = hasFailed
        ? ({ step: 'message', state: 'failed', reason: 'send_failed', error: error ?? undefined } as const)
        : ({ step: 'message', state: 'done', reason: 'message_delivered' } as const)
      await recordSteps(tx, [{ ...step, ...place }], at)
      if (hasFailed && run.state === 'waiting' && run.step === 'wait')
        await tx.run('runs_end', [at, [run.id], ['failed']])
    }
    if (rows.length > 0 || gatewayId === null || key !== null) return rows.length > 0
    const { known, begun } = await tx.one<{ known: number; begun: number }>('message_unanswered', [
      ...[channel, gatewayId],
    ])
    if (known === 0 && begun > 0) throw fail('unavailable', 'Which message this is is not known yet', RETRY)
    return false
  })
}
