import type { Brand, Statements } from '../op.ts'
import { DAY_MS } from '../time.ts'
import type { Progress } from './advance.ts'
import { cartUrl, checkoutUrl, type LinkBrand } from './cart-link.ts'
import type { Draft } from './compose.ts'
import type { CartLink } from './definition.ts'
import type { Discount } from './discount.ts'
import type { Policy } from './gate.ts'
import { emailOf } from './headline.ts'
import type { HeldRun } from './held-run.ts'
import { type Letter, writeLetters } from './letter.ts'
import type { Recipient } from './recipient.ts'
import { recordSteps } from './record-steps.ts'
import { valuesOf } from './values.ts'

/** A run that moves on, with the message that it writes. */
export interface Move {
  run: HeldRun
  recipient: Recipient | null
  progress: Progress
  conversationId: string | null
  messageId: string | null
  code: { discount: Discount; code: string } | null
  cartLink: CartLink
}

export interface WriteOptions {
  now: Date
  baseUrl: string
  storePlatformDomain: string
  brand: Brand
  policy: Policy
}

/** Writes what runs come to: their messages and steps, and where they stand then; within a transaction. */
export async function writeMoves(
  tx: Statements,
  moves: readonly Move[],
  { now, baseUrl, storePlatformDomain, brand, policy }: WriteOptions,
): Promise<void> {
  const saying = moves.filter(({ messageId }) => messageId !== null)
  if (saying.length) {
    const beginning = saying.filter(({ progress }) => progress.message?.answers === null)
    if (beginning.length) await addConversations(tx, beginning, now, policy)
    const answering = saying.filter(({ progress }) => progress.message?.answers !== null)
    if (answering.length)
      await tx.run('conversations_touch', [answering.map(({ conversationId }) => conversationId), now])
    await writeLetters(
      tx,
      saying.map((move) => letterOf(move, { ...brand, storePlatformDomain })),
      now,
      baseUrl,
    )
  }
  await recordSteps(tx, moves.flatMap(stepsOf), now)
  await moveRuns(tx, moves, now)
}

/** The step that says something. */
const isSaying = (step: string) => step === 'message' || step === 'reply'

function letterOf(move: Move, brand: Brand & LinkBrand): Letter {
  const { run, recipient, progress, conversationId, messageId } = move
  const { channel = 'sms', author = 'campaign', answers = null } = progress.message ?? {}
  return {
    id: messageId as string,
    conversationId: conversationId as string,
    contactId: recipient?.id ?? '',
    campaignId: run.campaign_id,
    key: `${run.id}:${run.ordinal + progress.steps.findIndex(({ step }) => isSaying(step))}`,
    author,
    channel,
    draft: draftOf(move, brand),
    headline: brand.name,
    answers,
  }
}

const stepsOf = ({ run, progress, conversationId, messageId }: Move) =>
  progress.steps.map((step, at) => ({
    ...step,
    runId: run.id,
    ordinal: run.ordinal + at,
    eventType: step.step === 'start' ? run.trigger_event : null,
    eventId: step.step === 'start' ? run.event_id : null,
    conversationId: isSaying(step.step) || step.step === 'wait' ? conversationId : null,
    messageId: isSaying(step.step) ? messageId : null,
  }))

function draftOf({ run, recipient, progress, code: given, cartLink }: Move, brand: Brand & LinkBrand): Draft {
  const { facts } = run
  const discount = given && { saved: given.discount, code: given.code }
  const code = given?.code ?? null
  const { channel = 'sms', template = '' } = progress.message ?? {}
  return {
    // Before values come in: none of them can become the subject.
    ...(channel === 'email' ? emailOf(template) : { headline: null, body: template }),
    values: valuesOf({
      recipient: recipient ?? { first_name: null, last_name: null },
      brand,
      trigger: run.trigger_event,
      facts,
      discount,
      template,
    }),
    cart: cartUrl(cartLink, facts, brand, code),
    checkout: checkoutUrl(facts, brand, code),
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
