import { v5 } from 'uuid'
import { errorFields, log } from '../log.ts'
import type { Statements } from '../op.ts'
import type { Postgres } from '../store/postgres.ts'
import { DAY_MS } from '../time.ts'
import type { ChatEndpoint } from './chat.ts'
import { wishOf } from './opt-out-word.ts'
import { inPieces } from './pieces.ts'
import { type Topic, topicsOf } from './topic.ts'
import { nameOfTopic } from './topic-name.ts'

/** How many days back conversations are looked at. */
export const INSIGHT_DAYS = 90
/** The newest messages of a brand; those before change no topic that matters. */
const MOST_MESSAGES = 50_000
const EXAMPLES = 5

export interface InsightParts {
  postgres: Postgres
  /** Names topics; null: they are called by their keywords. */
  agent: ChatEndpoint | null
}

interface TextRow {
  id: string
  conversation_id: string
  contact_id: string | null
  body: string
}

interface Insight extends Topic {
  id: string
  topic: string
  /** Null: it is called by its keywords. */
  namedBy: string[] | null
}

/** Finds the topics of all brands whose turn it is. A brand that fails stops no other. Resolves with how many there were. */
export async function findInsights(parts: InsightParts, now: Date, signal?: AbortSignal): Promise<number> {
  const brands = await parts.postgres.pipeline.many<{ brand_id: string; timezone: string }>(
    'insight_brands_due',
    [now],
  )
  const naming = { ...parts, isSilent: false }
  let done = 0
  for (const { brand_id: brandId, timezone } of brands) {
    if (signal?.aborted) break
    try {
      await insightsOfBrand(naming, { brandId, timezone }, now, signal)
      done++
    } catch (error) {
      if (signal?.aborted) throw error
      log('error', 'insights_failed', { brand_id: brandId, ...errorFields(error) })
    }
  }
  return done
}

interface NamingParts extends InsightParts {
  /** The endpoint gave no answer: it is asked for no more names. */
  isSilent: boolean
}

async function insightsOfBrand(
  parts: NamingParts,
  { brandId, timezone }: { brandId: string; timezone: string },
  now: Date,
  signal: AbortSignal | undefined,
): Promise<void> {
  const db = parts.postgres.forBrand(brandId)
  const since = new Date(now.getTime() - INSIGHT_DAYS * DAY_MS)
  const rows = await db.many<TextRow>('insight_texts', [since, MOST_MESSAGES])
  const said: TextRow[] = []
  for await (const some of inPieces(rows)) said.push(...some.filter(({ body }) => wishOf(body) === null))
  const topics = await topicsOf(
    said.map(({ id, contact_id, conversation_id, body }) => ({
      id,
      author: contact_id ?? conversation_id,
      body,
    })),
  )
  const bodies = new Map(said.map(({ id, body }) => [id, body]))
  const known = await db.many<{ id: string; topic: string; named_by: string[] | null }>('insights_known')
  const insights: Insight[] = []
  // No transaction is open while the endpoint is asked.
  for (const topic of topics) {
    const id = v5(topic.key, brandId)
    const examples = topic.messages.slice(-EXAMPLES).map((message) => bodies.get(message) ?? '')
    const before = known.find((one) => one.id === id)
    const isNamed = before?.named_by?.join() === topic.keywords.join()
    const name = isNamed ? (before?.topic ?? null) : await nameGiven(parts, { ...topic, examples }, signal)
    insights.push({
      ...{ ...topic, id, topic: name ?? topic.keywords.slice(0, 3).join(', ') },
      namedBy: name === null ? null : topic.keywords,
    })
  }
  await db.tx((tx) => write(tx, insights, timezone, now))
}

async function nameGiven(
  parts: NamingParts,
  topic: { keywords: readonly string[]; examples: readonly string[] },
  signal: AbortSignal | undefined,
): Promise<string | null> {
  if (parts.agent === null || parts.isSilent) return null
  const { name, unanswered } = await nameOfTopic(parts.agent, topic, signal)
  if (unanswered) parts.isSilent = true
  return name
}

async function write(
  tx: Statements,
  insights: readonly Insight[],
  timezone: string,
  now: Date,
): Promise<void> {
  await tx.run('insight_messages_clear')
  await tx.run('insights_keep', [insights.map(({ id }) => id)])
  await tx.run('insights_put', [
    insights.map(({ id }) => id),
    insights.map(({ topic }) => topic),
    insights.map(({ keywords }) => JSON.stringify(keywords)),
    insights.map(({ namedBy }) => namedBy && JSON.stringify(namedBy)),
  ])
  await tx.run('insight_messages_add', [
    insights.flatMap(({ messages }) => messages),
    insights.flatMap(({ id, messages }) => messages.map(() => id)),
    timezone,
  ])
  await tx.run('insight_done', [now])
}
