import * as v from 'valibot'
import { list, paging, text, uuid } from '../fields.ts'
import { type Op, op, type Page } from '../op.ts'
import * as example from './conversation-example.ts'
import {
  CHANNELS,
  CONVERSATION_STATUSES,
  Conversation,
  type ConversationRow,
  conversationOf,
  FoundConversation,
  Message,
  type MessageRow,
  messageOf,
} from './conversation-fields.ts'
import { paged } from './walk.ts'

const LISTED: Page = { default: 50, max: 100, over: 'clamp' }
/** A search has one page. */
const MOST_FOUND = 50

const oneOf = <const Options extends readonly string[]>(options: Options) =>
  v.optional(v.picklist(options, `must be one of ${options.join(', ')}`))

const conversationPath = v.strictObject({ id: uuid })

/** Where a page ended: a time to the microsecond, and an id. */
interface Position {
  at: string
  id: string
}

interface Placed {
  id: string
  created_at_exact: string
}

const placeOf = ({ id, created_at_exact: at }: Placed): Position => ({ at, id })

const reading = { scopes: ['conversations:read'] } as const

export const conversationOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_conversations',
    route: 'GET /v1/conversations',
    page: LISTED,
    what: 'Conversations with contacts, newest first, with the checkout that each is about and whether it was recovered.',
    input: {
      query: v.strictObject({
        ...paging(LISTED),
        status: oneOf(CONVERSATION_STATUSES),
        channel: oneOf(CHANNELS),
        campaign_id: v.optional(uuid),
        contact_id: v.optional(uuid),
      }),
    },
    output: list(Conversation),
    example: example.LISTED,
    run: async ({ db, cursors, now }, { query: { limit, cursor, ...filters } }) => {
      const after = cursors.open<Position>(cursor, filters)
      const found = await db.many<ConversationRow & Placed>('conversations_page', [
        ...[after?.at ?? null, after?.id ?? null, filters.status ?? null, filters.channel ?? null],
        ...[filters.campaign_id ?? null, filters.contact_id ?? null, limit + 1],
      ])
      const { rows, last } = paged(found, limit)
      return {
        data: rows.map((row) => conversationOf(row, now)),
        next_cursor: last ? cursors.seal(placeOf(last), filters) : null,
      }
    },
  }),

  op({
    ...reading,
    name: 'search_conversations',
    route: 'GET /v1/conversations/search',
    rate: { count: 10, per: 'second' },
    what: `Conversations by what was said in them, newest first, at most ${MOST_FOUND}. All words have to occur in one message; "quoted words" one after the other, -word not at all, and or between two words either. match is the newest message that has them.`,
    input: { query: v.strictObject({ query: text({ min: 1, max: 200 }) }) },
    output: list(FoundConversation),
    example: example.FOUND,
    run: async ({ db, now }, { query: { query } }) => {
      const rows = await db.many<ConversationRow & { message_id: string; body: string; said_at: Date }>(
        'conversations_found',
        [query, MOST_FOUND],
      )
      const data = rows.map((row) => ({
        ...conversationOf(row, now),
        match: { message_id: row.message_id, body: row.body, created_at: row.said_at.toISOString() },
      }))
      return { data, next_cursor: null }
    },
  }),

  op({
    ...reading,
    name: 'get_conversation_details',
    route: 'GET /v1/conversations/{id}',
    what: 'One conversation with its checkout and its goal: recovered once an order is attributed to it, expired when the time for that has passed.',
    input: { path: conversationPath },
    output: Conversation,
    example: example.READ,
    run: async ({ db, now }, { path }) =>
      conversationOf(await db.one<ConversationRow>('conversation_by_id', [path.id]), now),
  }),

  op({
    ...reading,
    name: 'list_conversation_messages',
    route: 'GET /v1/conversations/{id}/messages',
    page: LISTED,
    what: 'What was said in a conversation, in its order.',
    input: { path: conversationPath, query: v.strictObject(paging(LISTED)) },
    output: list(Message),
    example: example.MESSAGES,
    run: async ({ db, cursors }, { path, query: { limit, cursor } }) => {
      const after = cursors.open<Position>(cursor, path)
      await db.one('conversation_exists', [path.id])
      const found = await db.many<MessageRow & Placed>('messages_page', [
        ...[path.id, after?.at ?? null, after?.id ?? null, limit + 1],
      ])
      const { rows, last } = paged(found, limit)
      return {
        data: rows.map(messageOf),
        next_cursor: last ? cursors.seal(placeOf(last), path) : null,
      }
    },
  }),
]
