import * as v from 'valibot'
import { userOf } from '../access/permit.ts'
import { fail } from '../errors.ts'
import { count, id, list, named, paging, text, time, timestamp, uuid } from '../fields.ts'
import { type Ctx, type Op, op, type Page } from '../op.ts'
import { parseDefinition } from '../segment/definition.ts'
import { compileOne } from '../segment/plan.ts'
import {
  audienceOf,
  createSegment,
  DESCRIPTION_LENGTH,
  NAME_LENGTH,
  type SavedSegment,
  type SegmentWithDefinition,
  segmentItem,
  segmentWithDefinition,
} from '../segment/saved.ts'
import * as example from './segment-example.ts'

const LISTED: Page = { default: 200, max: 500, over: 'refuse' }
const MEMBERS: Page = { default: 100, max: 5_000, over: 'refuse' }

const audienceFields = {
  evaluation_status: v.picklist(['not_evaluated', 'evaluating', 'evaluated', 'failed']),
  member_count: count,
  generation: count,
  evaluated_at: v.nullable(time),
  last_run_at: v.nullable(time),
  current_version_evaluated: v.boolean(),
}
const Audience = named('Audience', { ...audienceFields, segment_id: id, message: v.nullable(v.string()) })

const itemFields = {
  id,
  name: v.string(),
  description: v.nullable(v.string()),
  status: v.picklist(['active', 'archived']),
  current_version_id: id,
  created_by: v.string(),
  created_at: time,
  updated_at: time,
  audience: v.object(audienceFields),
}
const SegmentItem = named('SegmentItem', itemFields)
const definition = v.record(v.string(), v.unknown(), 'must be an object with source and rule')
const Segment = named('Segment', { ...itemFields, version: count, schema_version: count, definition })

const Member = named('SegmentMember', {
  customer_id: v.string(),
  email: v.nullable(v.string()),
  phone: v.nullable(v.string()),
  svc_contact_id: v.nullable(v.string()),
  joined_at: time,
})

const Estimate = named('Estimate', {
  count,
  segment_id: v.nullable(id),
  version: v.nullable(count),
  estimated_at: time,
})

const path = v.strictObject({ id: uuid })

interface PagePosition {
  created_at: string
  id: string
}

interface MemberRow {
  customer_id: string
  email: string | null
  phone: string | null
  joined_at: Date
}

const segmentById = (ctx: Ctx, segmentId: string) =>
  ctx.db.one<SegmentWithDefinition>('segment_by_id', [segmentId])

export const segmentOps: readonly Op[] = [
  op({
    name: 'list_segments',
    route: 'GET /v1/segments',
    scopes: ['segments:read'],
    feature: 'cdp',
    page: LISTED,
    what: 'Saved segments with their audience, newest first.',
    input: {
      query: v.strictObject({
        ...paging(LISTED),
        status: v.optional(
          v.picklist(['active', 'archived', 'all'], 'must be active, archived or all'),
          'active',
        ),
      }),
    },
    output: list(SegmentItem),
    example: example.LISTED,
    run: async ({ db, cursors }, { query: { status, limit, cursor } }) => {
      const from = cursors.open<PagePosition>(cursor, { status })
      const rows = await db.many<SavedSegment & { created_at_exact: string }>('segments_page', [
        status,
        from?.created_at ?? null,
        from?.id ?? null,
        limit + 1,
      ])
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      return {
        data: page.map(segmentItem),
        next_cursor: last
          ? cursors.seal({ created_at: last.created_at_exact, id: last.id }, { status })
          : null,
      }
    },
  }),

  op({
    name: 'create_segment',
    route: 'POST /v1/segments',
    scopes: ['segments:write'],
    signIn: true,
    feature: 'cdp',
    errors: ['conflict'],
    what: 'Save a segment. Its members appear with the next refresh, within 15 minutes.',
    input: {
      body: v.strictObject({
        name: text({ min: 1, max: NAME_LENGTH }),
        description: v.optional(text({ max: DESCRIPTION_LENGTH })),
        definition,
      }),
    },
    output: Segment,
    example: example.CREATED,
    run: async ({ db, caller }, { body }) =>
      segmentWithDefinition(await createSegment(db, { ...body, createdBy: userOf(caller) })),
  }),

  op({
    name: 'get_segment',
    route: 'GET /v1/segments/{id}',
    scopes: ['segments:read'],
    feature: 'cdp',
    what: 'One saved segment with its current rule and audience.',
    input: { path },
    output: Segment,
    example: { path: { id: example.ID }, output: example.SEGMENT },
    run: async (ctx, input) => segmentWithDefinition(await segmentById(ctx, input.path.id)),
  }),

  op({
    name: 'get_segment_audience',
    route: 'GET /v1/segments/{id}/audience',
    scopes: ['segments:read'],
    feature: 'cdp',
    what: 'Size and freshness of a segment, and why its last run failed if it did.',
    input: { path },
    output: Audience,
    example: example.AUDIENCE_READ,
    run: async (ctx, input) => {
      const segment = await segmentById(ctx, input.path.id)
      return { ...audienceOf(segment), segment_id: segment.id, message: segment.error }
    },
  }),

  op({
    name: 'list_segment_members',
    route: 'GET /v1/segments/{id}/members',
    scopes: ['segments:read'],
    feature: 'cdp',
    page: MEMBERS,
    what: 'Members of a segment as of its last refresh, ordered by customer id.',
    input: { path, query: v.strictObject(paging(MEMBERS)) },
    output: v.object({ ...list(Member).entries, generation: count }),
    example: example.MEMBERS,
    run: async (ctx, { path: { id: segmentId }, query: { limit, cursor } }) => {
      const filters = { id: segmentId }
      const after = ctx.cursors.open<string>(cursor, filters)
      const segment = await segmentById(ctx, segmentId)
      const served = segment.evaluated_at === null ? null : await ctx.lake.served()
      if (!served) return { data: [], next_cursor: null, generation: segment.generation }
      const rows = await served.rows<MemberRow>(
        `select members.customer_id, email, phone, joined_at
         from (
           select customer_id, joined_at from members
           where segment = $1 and customer_id > $2 order by customer_id limit $3
         ) as members
         join customers using (customer_id)
         order by members.customer_id`,
        [segment.ordinal, after ?? '', limit + 1],
      )
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      return {
        data: page.map(({ joined_at, ...row }) => ({
          ...row,
          svc_contact_id: null,
          joined_at: joined_at.toISOString(),
        })),
        next_cursor: last ? ctx.cursors.seal(last.customer_id, filters) : null,
        generation: served.generation,
      }
    },
  }),

  op({
    name: 'estimate_segment',
    route: 'POST /v1/segments/estimate',
    scopes: ['segments:read'],
    feature: 'cdp',
    rate: { count: 30, per: 'minute' },
    errors: ['not_found'],
    effect: 'read',
    what: 'How many customers a rule matches now, or at a past instant; nothing is saved.',
    input: {
      body: v.strictObject({
        definition: v.optional(definition),
        segment_id: v.optional(uuid),
        as_of: v.optional(timestamp),
      }),
    },
    output: Estimate,
    example: example.ESTIMATED,
    run: async (ctx, { body }) => {
      if ((body.definition === undefined) === (body.segment_id === undefined))
        throw fail('bad_request', 'Send exactly one of definition and segment_id')
      if (body.as_of && body.as_of > ctx.now) throw fail('bad_request', 'as_of must be in the past')
      const saved = body.segment_id === undefined ? null : await segmentById(ctx, body.segment_id)
      const { text: members, values } = compileOne(
        parseDefinition(saved ? saved.definition : body.definition),
      )
      const sources = await ctx.lake.sources(body.as_of)
      const [row] = await sources.rows<{ members: number }>(
        `select count(*) as members from (${members})`,
        values,
      )
      return {
        count: row?.members ?? 0,
        segment_id: saved?.id ?? null,
        version: saved?.version ?? null,
        estimated_at: (body.as_of ?? ctx.now).toISOString(),
      }
    },
  }),
]
