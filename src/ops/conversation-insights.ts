import * as v from 'valibot'
import { INSIGHT_DAYS } from '../campaign/insights.ts'
import { dayIn, plus } from '../campaign/range.ts'
import { count, id, list, named, paging, queryInteger, texts, time, uuid } from '../fields.ts'
import { type Op, op, type Page } from '../op.ts'
import { CONVERSATION, MATCH } from './conversation-example.ts'
import { type ConversationRow, conversationOf, FoundConversation } from './conversation-fields.ts'
import { paged } from './walk.ts'

const LISTED: Page = { default: 20, max: 50, over: 'refuse' }
const EXAMPLES: Page = { default: 10, max: 30, over: 'refuse' }

const Insight = named('ConversationInsight', {
  id,
  topic: v.string(),
  keywords: texts,
  message_count: count,
  conversation_count: count,
  days: v.array(v.object({ date: v.pipe(v.string(), v.isoDate()), count })),
  last_message_at: time,
})

interface InsightRow extends Omit<v.InferOutput<typeof Insight>, 'last_message_at'> {
  last_message_at: Date
}

interface Place {
  count: number
  id: string
}

const ID = '2f1d7a0e-5b1c-5c39-9a44-0d8e3b6f7c21'

const EXAMPLE = {
  id: ID,
  topic: 'shipping, delivery, address',
  keywords: ['shipping', 'delivery', 'address', 'tracking', 'late'],
  message_count: 14,
  conversation_count: 11,
  days: [
    { date: '2026-11-19', count: 9 },
    { date: '2026-11-20', count: 5 },
  ],
  last_message_at: '2026-11-20T16:40:31.000Z',
}

const reading = { scopes: ['insights:read'] } as const

export const conversationInsightOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_conversation_insights',
    route: 'GET /v1/brand/insights',
    page: LISTED,
    what: `What contacts write about: topics by the number of messages of the last day_limit days (30 unless given, at most ${INSIGHT_DAYS}), with how many there were each day. Topics are found anew every night.`,
    input: {
      query: v.strictObject({
        ...paging(LISTED),
        day_limit: v.optional(queryInteger({ min: 1, max: INSIGHT_DAYS }), '30'),
      }),
    },
    output: list(Insight),
    example: { query: { day_limit: 2 }, output: { data: [EXAMPLE], next_cursor: null } },
    run: async ({ db, brand, cursors, now }, { query: { limit, cursor, day_limit } }) => {
      const after = cursors.open<Place>(cursor, { day_limit })
      const since = plus(dayIn(brand.timezone, now), 1 - day_limit)
      const found = await db.many<InsightRow>('insights_page', [
        ...[since, after?.count ?? null, after?.id ?? null, limit + 1],
      ])
      const { rows, last } = paged(found, limit)
      return {
        data: rows.map(({ last_message_at, ...row }) => ({
          ...row,
          last_message_at: last_message_at.toISOString(),
        })),
        next_cursor: last ? cursors.seal({ count: last.message_count, id: last.id }, { day_limit }) : null,
      }
    },
  }),

  op({
    ...reading,
    name: 'list_insight_conversations',
    route: 'GET /v1/brand/insights/{insight_id}/conversations',
    page: EXAMPLES,
    what: 'Conversations in which contacts wrote about a topic, newest first. match is the newest message about it.',
    input: { path: v.strictObject({ insight_id: uuid }), query: v.strictObject(paging(EXAMPLES)) },
    output: list(FoundConversation),
    example: {
      path: { insight_id: ID },
      output: { data: [{ ...CONVERSATION, match: MATCH }], next_cursor: null },
    },
    run: async ({ db, cursors, now }, { path, query: { limit, cursor } }) => {
      const after = cursors.open<{ at: string; id: string }>(cursor, path)
      await db.one('insight_by_id', [path.insight_id])
      const found = await db.many<
        ConversationRow & { message_id: string; body: string; said_at: Date; said_at_exact: string }
      >('insight_conversations', [path.insight_id, after?.at ?? null, after?.id ?? null, limit + 1])
      const { rows, last } = paged(found, limit)
      return {
        data: rows.map((row) => ({
          ...conversationOf(row, now),
          match: { message_id: row.message_id, body: row.body, created_at: row.said_at.toISOString() },
        })),
        next_cursor: last ? cursors.seal({ at: last.said_at_exact, id: last.message_id }, path) : null,
      }
    },
  }),
]
