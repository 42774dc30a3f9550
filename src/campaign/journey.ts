import { sum } from '../connect/store/money.ts'
import type { Ctx, Db } from '../op.ts'
import { type Amount, type JourneyAsked, type JourneySource, sourceOf } from './journey-source.ts'
import { shownReason } from './reason.ts'

/** The whole story of something that happened: the campaigns that it started, step by step, and what came of it. */

interface RunRow {
  id: string
  campaign_id: string
  campaign_name: string
  trigger_event: string
  event_id: string | null
  contact_id: string | null
  outcome: string
}

interface StepRow {
  run_id: string
  at: Date
  state: 'done' | 'waiting' | 'skipped' | 'stopped' | 'failed'
  step: string
  step_id: string
  event_type: string | null
  event_id: string | null
  conversation_id: string | null
  reason: string | null
  error: string | null
}

interface ConversationRow {
  conversation_id: string
  created_at: Date
  campaign_id: string | null
  campaign_name: string | null
}

interface GoalRow {
  at: Date
  conversation_id: string
  campaign_id: string | null
  order_id: string
  order_number: string
  amount: string
  currency_code: string
  touch: 'message' | 'click'
  billing_status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'voided'
  recovered: boolean
}

/** Fails with bad_request or not_found. */
export async function journeyOf(ctx: Ctx, asked: JourneyAsked) {
  const source = await sourceOf(ctx, asked)
  const { db, brand } = ctx
  const runs = await db.many<RunRow>('journey_runs', [source.run.kind, source.run.id])
  const steps = await stepsOf(db, runs)
  const conversations = await db.many<ConversationRow>('journey_conversations', [
    ...[runs.map(({ id }) => id), source.checkoutId, source.orderId],
  ])
  return {
    source: source.shown,
    campaigns: runs.map((run) => ({
      campaign_id: run.campaign_id,
      campaign_name: run.campaign_name,
      outcome: run.outcome,
      run: (steps.get(run.id) ?? []).map((step) => shownStep(run, step)),
    })),
    conversations: conversations.map(({ created_at, ...row }) => ({
      ...row,
      created_at: created_at.toISOString(),
    })),
    outcome: outcomeOf(await goalsOf(db, source, conversations), brand.currency_code),
  }
}

async function stepsOf(db: Db, runs: readonly RunRow[]): Promise<Map<string, StepRow[]>> {
  if (runs.length === 0) return new Map()
  const rows = await db.many<StepRow>('journey_steps', [runs.map(({ id }) => id)])
  return Map.groupBy(rows, ({ run_id }) => run_id)
}

/** Steps that name no event of their own tell of the one that the run began with. */
const shownStep = (run: RunRow, { at, reason, run_id: _, ...step }: StepRow) => ({
  at: at.toISOString(),
  state: step.state,
  step: step.step,
  step_id: step.step_id,
  event_type: step.event_type ?? run.trigger_event,
  event_id: step.event_type === null ? run.event_id : step.event_id,
  campaign_id: run.campaign_id,
  campaign_name: run.campaign_name,
  conversation_id: step.conversation_id,
  contact_id: run.contact_id,
  reason: shownReason(reason),
  error: step.error,
})

async function goalsOf(
  db: Db,
  { orderId }: JourneySource,
  conversations: readonly ConversationRow[],
): Promise<GoalRow[]> {
  if (conversations.length === 0) return []
  return await db.many<GoalRow>('journey_goals', [
    conversations.map(({ conversation_id }) => conversation_id),
    orderId,
  ])
}

/** Amounts of one currency are added: the brand's, when an order in it was recovered, else that of the first order. */
function outcomeOf(goals: readonly GoalRow[], brandCurrency: string) {
  const recovered = goals.filter((goal) => goal.recovered)
  const currency = recovered.some(({ currency_code }) => currency_code === brandCurrency)
    ? brandCurrency
    : (recovered[0]?.currency_code ?? brandCurrency)
  const added = recovered.filter(({ currency_code }) => currency_code === currency)
  const recovered_amount: Amount = { amount: sum(added.map(({ amount }) => amount)), currency }
  return { recovered: recovered.length > 0, recovered_amount, goals: goals.map(shownGoal) }
}

const shownGoal = ({ at, amount, currency_code: currency, touch, ...goal }: GoalRow) => ({
  at: at.toISOString(),
  conversation_id: goal.conversation_id,
  campaign_id: goal.campaign_id,
  order_id: goal.order_id,
  order_number: goal.order_number,
  amount: { amount, currency },
  attribution: touch,
  billing_status: goal.billing_status,
  recovered: goal.recovered,
})
