import { v7 } from 'uuid'
import type { Statements } from '../op.ts'
import { DAY_MS } from '../time.ts'
import { advance, type Circumstances, endingOf } from './advance.ts'
import type { Discount } from './discount.ts'
import { factsHold } from './filter.ts'
import type { Policy } from './gate.ts'
import { type HeldRun, type Known, know } from './held-run.ts'
import { messageBrand } from './message-brand.ts'
import { type Move, writeMoves } from './write-moves.ts'

/** What was found out about runs before the transaction that works on them, by run. */
export interface Foreknown {
  /** Whether the filters on its customer hold. */
  holds: ReadonlyMap<string, boolean>
  /** `failed`: there will be no code. */
  codes: ReadonlyMap<string, { discount: Discount; code: string } | { failed: string }>
  drafts: ReadonlyMap<string, Draft>
}

/** An answer as a template; null: none that may be sent. */
export interface Draft {
  template: string | null
  /** The newest message that there was. */
  answers: string | null
}

export interface WorkOptions {
  now: Date
  baseUrl: string
  storePlatformDomain: string
  /** There is an endpoint that drafts answers. */
  hasAgent: boolean
  /** Until when runs are claimed that want to know something. */
  until: Date
}

/** Runs that somebody works on, under a claim that they perhaps have already. */
export interface Taking {
  claim: string
  ids: readonly string[]
  isClaimed: boolean
}

/** A run that cannot go on before something is known that no transaction can wait for. */
export interface Wanting {
  run: HeldRun
  needs: 'customer' | 'code' | 'draft'
}

/**
 * Does what is due of the runs that nobody else works on, within one transaction of their brand: steps, messages and
 * where the runs stand then are there together, or not at all. Resolves with how many there were, and with those that
 * want to know something first, which are claimed until then.
 */
export async function workOn(
  tx: Statements,
  { claim, ids, isClaimed }: Taking,
  foreknown: Foreknown,
  options: WorkOptions,
): Promise<{ taken: number; wanting: Wanting[] }> {
  const { now, until } = options
  const taken = isClaimed
    ? await tx.many<{ id: string }>('runs_retake', [ids, claim])
    : await tx.many<{ id: string }>('runs_take', [ids, claim, now])
  if (taken.length === 0) return { taken: 0, wanting: [] }
  const runs = await tx.many<HeldRun>('runs_held', [taken.map(({ id }) => id)])
  const { brand, policy } = await messageBrand(tx)
  const known = await know(tx, runs, new Date(now.getTime() - policy.cap.days * DAY_MS))
  const wanting: Wanting[] = []
  const moves: Move[] = []
  for (const run of known.ahead.inOrder(runs)) {
    const next = moveOf(run, known, foreknown, { ...options, policy })
    if ('needs' in next) wanting.push(next)
    else moves.push(next)
  }
  await writeMoves(tx, moves, { brand, policy, ...options })
  if (wanting.length && !isClaimed)
    await tx.run('runs_claim', [wanting.map(({ run }) => run.id), claim, until])
  return { taken: taken.length, wanting }
}

function moveOf(
  run: HeldRun,
  known: Known,
  { holds, codes, drafts }: Foreknown,
  { now, policy, hasAgent }: WorkOptions & { policy: Policy },
): Move | Wanting {
  const { definition, filters } = known.versionOf(run)
  if (filters.customer !== null && LOOKS_AT_CUSTOMER.has(run.step) && !holds.has(run.id))
    return { run, needs: 'customer' }
  const isDrafting = run.step === 'reply' && definition.action_type === 'agent' && hasAgent
  const reply = known.replies.get(run.id) ?? null
  const draft = drafts.get(run.id)
  // They may have written again since.
  if (isDrafting && reply && draft?.answers !== reply.answers) return { run, needs: 'draft' }
  const recipient = known.recipients.get(run.id) ?? null
  const given: Circumstances = {
    now,
    definition,
    policy,
    recipient,
    isActive: run.is_active,
    factsHold: factsHold(filters, run.facts, now),
    customerHolds: holds.get(run.id) ?? true,
    isBehind: known.ahead.isAny(run.id),
    messages: recipient ? known.messagesTo(recipient.id) : 0,
    replying: reply,
    draft: draft?.template ?? null,
  }
  let progress = advance(run, given)
  const code = codes.get(run.id)
  if (progress.message && definition.discount_id !== null) {
    if (code === undefined) return { run, needs: 'code' }
    if ('failed' in code) progress = endingOf(run, 'discount_failed', code.failed)
  }
  const { message } = progress
  if (message === null && 'outcome' in progress.next) known.ahead.ended(run.id)
  if (message?.answers === null && recipient) known.count(recipient.id)
  return {
    run,
    recipient,
    progress,
    cartLink: definition.cart_link,
    conversationId: message && (message.answers === null ? v7() : (given.replying?.conversation_id ?? null)),
    messageId: message && v7(),
    code: code && 'code' in code ? code : null,
  }
}

/** Filters are looked at when a run begins, and before it says something of its own accord. */
const LOOKS_AT_CUSTOMER: ReadonlySet<string> = new Set(['start', 'delay', 'check', 'split', 'message'])
