import { v7 } from 'uuid'
import type { Brand, Statements } from '../op.ts'
import { advance, type Circumstances, ending, type Progress } from './advance.ts'
import { cartUrl, checkoutUrl } from './cart-link.ts'
import type { Discount } from './discount.ts'
import { factsHold } from './filter.ts'
import type { Policy } from './gate.ts'
import { type HeldRun, type Known, know } from './held-run.ts'
import { type Letter, writeLetters } from './letter.ts'
import { messageBrand } from './message-brand.ts'
import type { Recipient } from './recipient.ts'
import { recordSteps } from './record-steps.ts'
import { valuesOf } from './values.ts'

const DAY_MS = 86_400_000

/** What was found out about runs before the transaction that works on them. */
export interface Foreknown {
  /** By run whether the filters on its customer hold. */
  holds: ReadonlyMap<string, boolean>
  /** Codes by run; `failed`: there will be none. */
  codes: ReadonlyMap<string, { discount: Discount; code: string } | { failed: string }>
}

export interface WorkOptions {
  now: Date
  baseUrl: string
}

/** A run that moves on, with the message that it writes. */
interface Move {
  run: HeldRun
  recipient: Recipient | null
  progress: Progress
  conversationId: string | null
  messageId: string | null
  code: { discount: Discount; code: string } | null
}

/** A run that cannot go on before something is known that no transaction can wait for. */
export interface Wanting {
  run: HeldRun
  needs: 'customer' | 'code'
}

/**
 * Does what is due of the runs that a claim holds, within one transaction of their brand: steps, messages and where
 * the runs stand then are there together, or not at all. Resolves with the runs that want something first.
 */
export async function workOn(
  tx: Statements,
  { claim, ids }: { claim: string; ids: readonly string[] },
  { holds, codes }: Foreknown,
  options: WorkOptions,
): Promise<Wanting[]> {
  const { now } = options
  const runs = await tx.many<HeldRun>('runs_held', [ids, claim])
  if (runs.length === 0) return []
  const { brand, policy } = await messageBrand(tx)
  const known = await know(tx, runs, new Date(now.getTime() - policy.cap.days * DAY_MS))
  const wanting: Wanting[] = []
  const moves: Move[] = []
  for (const run of runs) {
    const recipient = known.recipients.get(run.id) ?? null
    if (looksAtCustomer(run, known) && !holds.has(run.id)) {
      wanting.push({ run, needs: 'customer' })
      continue
    }
    const given = circumstances(run, known, recipient, { now, policy, holds: holds.get(run.id) ?? true })
    let progress = advance(run, given)
    const code = codes.get(run.id)
    if (progress.message && given.definition.discount_id !== null) {
      if (code === undefined) {
        wanting.push({ run, needs: 'code' })
        continue
      }
      if ('failed' in code) progress = ending('discount_failed', code.failed)
    }
    const says = progress.message !== null
    if (says && recipient) known.count(recipient.id)
    moves.push({
      run,
      recipient,
      progress,
      conversationId: says ? v7() : null,
      messageId: says ? v7() : null,
      code: code && 'code' in code ? code : null,
    })
  }
  await write(tx, moves, known, { brand, policy, ...options })
  return wanting
}

/** Filters are looked at when a run begins and before it says something. */
const looksAtCustomer = (run: HeldRun, { versionOf }: Known) =>
  run.step !== 'wait' && versionOf(run).filters.customer !== null

function circumstances(
  run: HeldRun,
  { versionOf, messagesTo }: Known,
  recipient: Recipient | null,
  { now, policy, holds }: { now: Date; policy: Policy; holds: boolean },
): Circumstances {
  const { definition, filters } = versionOf(run)
  return {
    now,
    definition,
    policy,
    recipient,
    isActive: run.is_active,
    factsHold: factsHold(filters, run.facts, now),
    customerHolds: holds,
    messages: recipient ? messagesTo(recipient.id) : 0,
  }
}

/** The place of a step among all of its run. */
const lastOrdinal = ({ run, progress }: Move) =>
  run.ordinal + progress.steps.findIndex(({ step }) => step === 'message')

async function write(
  tx: Statements,
  moves: readonly Move[],
  { versionOf }: Known,
  { now, baseUrl, brand, policy }: WorkOptions & { brand: Brand; policy: Policy },
): Promise<void> {
  const saying = moves.filter(({ messageId }) => messageId !== null)
  if (saying.length) {
    await addConversations(tx, saying, now, policy)
    const letters = saying.map((move): Letter => {
      const { run, recipient, progress, conversationId, messageId, code } = move
      return {
        id: messageId as string,
        conversationId: conversationId as string,
        contactId: recipient?.id ?? '',
        campaignId: run.campaign_id,
        key: `${run.id}:${lastOrdinal(move)}`,
        author: 'campaign',
        channel: progress.message?.channel ?? 'sms',
        draft: draftOf(move, brand, versionOf(run).definition.cart_link, code),
        headline: brand.name,
        answers: null,
      }
    })
    await writeLetters(tx, letters, now, baseUrl)
    const checkouts = saying.flatMap(({ run }) => run.checkout_id ?? [])
    if (checkouts.length) await tx.run('checkouts_messaged', [[...new Set(checkouts)], now])
  }
  await recordSteps(tx, moves.flatMap(stepsOf), now)
  await moveRuns(tx, moves, now)
}

const stepsOf = ({ run, progress, conversationId, messageId }: Move) =>
  progress.steps.map((step, at) => {
    const isSaid = step.step === 'message' || step.step === 'wait'
    return {
      ...step,
      runId: run.id,
      ordinal: run.ordinal + at,
      eventType: step.step === 'start' ? run.trigger_event : null,
      eventId: step.step === 'start' ? run.event_id : null,
      conversationId: isSaid ? conversationId : null,
      messageId: step.step === 'message' ? messageId : null,
    }
  })

function draftOf(
  { run, recipient, progress, code: given }: Move,
  brand: Brand,
  cartLink: Parameters<typeof cartUrl>[0],
  code: Move['code'],
) {
  const { facts } = run
  const discount = given && { saved: given.discount, code: given.code }
  return {
    template: progress.message?.template ?? '',
    values: valuesOf({
      recipient: recipient ?? { first_name: null, last_name: null },
      brand,
      facts,
      discount,
    }),
    cart: cartUrl(cartLink, facts, brand, code?.code ?? null),
    checkout: checkoutUrl(facts, brand, code?.code ?? null),
  }
}

async function addConversations(
  tx: Statements,
  moves: readonly Move[],
  now: Date,
  { attributionDays }: Policy,
): Promise<void> {
  const goalUntil = new Date(now.getTime() + attributionDays * DAY_MS)
  await tx.run('conversations_add', [
    now,
    moves.map(({ conversationId }) => conversationId),
    moves.map(({ recipient }) => recipient?.id ?? null),
    moves.map(({ run }) => run.subject),
    moves.map(({ run }) => run.campaign_id),
    moves.map(({ run }) => run.id),
    moves.map(({ progress }) => progress.message?.channel),
    moves.map(({ run }) => run.checkout_id),
    moves.map(() => goalUntil.toISOString()),
  ])
}

async function moveRuns(tx: Statements, moves: readonly Move[], now: Date): Promise<void> {
  if (moves.length === 0) return
  const next = moves.map(({ progress }) => progress.next)
  await tx.run('runs_move', [
    now,
    moves.map(({ run }) => run.id),
    next.map((one) => ('step' in one ? one.step : 'end')),
    next.map((one) => ('step' in one ? one.dueAt.toISOString() : null)),
    next.map((one) => ('outcome' in one ? one.outcome : null)),
    moves.map(({ recipient }) => recipient?.id ?? null),
    moves.map(({ progress }) => progress.branch),
  ])
}
