import * as v from 'valibot'
import { count, id, list, named, paging, time } from '../fields.ts'
import { loadReadable, type Model } from '../model/graph.ts'
import { over } from '../model/over.ts'
import { type Op, op, type Page } from '../op.ts'
import { type MemberPosition, memberPage, placeIn } from '../segment/member-page.ts'
import { audienceOf } from '../segment/saved.ts'
import { DAY_MS } from '../time.ts'
import { contactsOf } from './commerce-fields.ts'
import { maybeCustomer } from './customer-rows.ts'
import * as example from './segment-example.ts'
import { audienceFields, HISTORY_DAYS, segmentById, segmentPath } from './segment-fields.ts'
import { paged } from './walk.ts'

const MEMBERS: Page = { default: 100, max: 5_000, over: 'refuse' }
const HISTORY: Page = { default: 100, max: 1_000, over: 'refuse' }

const Audience = named('Audience', { ...audienceFields, segment_id: id, message: v.nullable(v.string()) })

const Member = named('SegmentMember', {
  customer_id: v.string(),
  email: v.nullable(v.string()),
  phone: v.nullable(v.string()),
  svc_contact_id: v.nullable(v.string()),
  joined_at: time,
})

const HistoryEntry = named('SegmentHistoryEntry', {
  customer_id: v.string(),
  email: v.nullable(v.string()),
  phone: v.nullable(v.string()),
  /** Differs from customer_id once the profile was merged into another. */
  current_customer_id: v.string(),
  action: v.picklist(['entered', 'exited']),
  reason: v.picklist([
    'definition_changed',
    'merged',
    'erased',
    'data_changed',
    'window_elapsed',
    'segment_created',
  ]),
  generation: count,
  changed_at: time,
})

interface HistoryRow {
  customer: number
  customer_id: string
  email: string | null
  phone: string | null
  current_customer_id: string
  action: 'entered' | 'exited'
  reason: v.InferOutput<typeof HistoryEntry>['reason']
  generation: number
  changed_at: Date
}

interface HistoryPosition {
  generation: number
  customer: number
}

/** Customers of a page as every read has them: what the profiles in them say counts, too. */
const people = (models: readonly Model[]) =>
  over(models, 'stg_customers', {
    subject_redirect: 'from subject_redirect where customer in (select customer from changes)',
    customers_source: `from customers_source
      where subject in (select customer from changes union all select subject from subject_redirect)`,
  })

/** Newest updates first; within one, by customer. */
const historyPage = (models: readonly Model[]) => `
  with profiles as (
    select subject, customer_id, email, phone from customers_source
    union all
    select subject, customer_id, null, null from customers_gone
  ),
  named as (
    select coalesce(redirect.customer, subject) as customer from profiles
    left join subject_redirect as redirect using (subject) where customer_id in ($6, $7)
  ),
  linked as (
    select subject from subject_redirect where customer in (from named)
    union all
    from named
  ),
  changes as (
    from member_history
    where segment = $1::integer and changed_at > $2::timestamp
      and (generation < $3::bigint or (generation = $3::bigint and customer > $4::integer))
      and ($6::varchar is null or customer in (from linked))
    order by generation desc, customer
    limit $5::integer
  ),
  people as (${people(models)})
  select
    changes.customer, profile.customer_id,
    coalesce(people.email, profile.email) as email, coalesce(people.phone, profile.phone) as phone,
    coalesce(survivor.customer_id, profile.customer_id) as current_customer_id,
    action, reason, generation, changed_at
  from changes
  left join profiles as profile on profile.subject = changes.customer
  left join people on people.customer = changes.customer
  left join subject_redirect as redirect on redirect.subject = changes.customer
  left join profiles as survivor on survivor.subject = redirect.customer
  order by generation desc, changes.customer`

export const segmentMemberOps: readonly Op[] = [
  op({
    name: 'get_segment_audience',
    route: 'GET /v1/segments/{id}/audience',
    scopes: ['segments:read'],
    feature: 'cdp',
    what: 'Size and freshness of a segment, and why its last run failed if it did.',
    input: { path: segmentPath },
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
    input: { path: segmentPath, query: v.strictObject(paging(MEMBERS)) },
    output: v.object({ ...list(Member).entries, generation: count }),
    example: example.MEMBERS,
    run: async (ctx, { path: { id: segmentId }, query: { limit, cursor } }) => {
      const filters = { id: segmentId }
      const from = ctx.cursors.open<MemberPosition>(cursor, filters)
      const segment = await segmentById(ctx, segmentId)
      const served = segment.evaluated_at === null ? null : await ctx.lake.served(from?.generation)
      if (!served) return { data: [], next_cursor: null, generation: segment.generation }
      const asked = { ordinal: segment.ordinal, ...placeIn(served, from), count: limit + 1 }
      const found = await memberPage(served, asked)
      const { rows, last } = paged(found, limit)
      const contacts = await contactsOf(ctx.db, rows)
      return {
        data: rows.map(({ customer, position: _, joined_at, ...row }) => ({
          ...row,
          svc_contact_id: contacts.get(customer) ?? null,
          joined_at: joined_at.toISOString(),
        })),
        next_cursor: last
          ? ctx.cursors.seal(
              { generation: served.generation, after: last.customer_id, position: last.position },
              filters,
            )
          : null,
        generation: served.generation,
      }
    },
  }),

  op({
    name: 'list_segment_history',
    route: 'GET /v1/segments/{id}/history',
    scopes: ['segments:read'],
    feature: 'cdp',
    page: HISTORY,
    what: 'Who entered and left a segment in the last 180 days and why, newest updates first; with customer_id of one customer and the profiles merged into it.',
    input: {
      path: segmentPath,
      query: v.strictObject({
        ...paging(HISTORY),
        customer_id: v.optional(v.pipe(v.string(), v.nonEmpty('must not be empty'))),
      }),
    },
    output: list(HistoryEntry),
    example: example.HISTORY,
    run: async (ctx, { path: { id: segmentId }, query: { limit, cursor, customer_id } }) => {
      const filters = { id: segmentId, customer_id: customer_id ?? null }
      const from = ctx.cursors.open<HistoryPosition>(cursor, filters)
      const segment = await segmentById(ctx, segmentId)
      if (segment.first_evaluated_at === null) return { data: [], next_cursor: null }
      // Those of customers who are gone are found by the public id alone.
      const whose = customer_id && ((await maybeCustomer(ctx, customer_id))?.customer_id ?? customer_id)
      const oldest = new Date(ctx.now.getTime() - HISTORY_DAYS * DAY_MS)
      const found = await (await ctx.lake.sources(undefined, segment.generation)).rows<HistoryRow>(
        historyPage((await loadReadable()).models),
        [
          segment.ordinal,
          oldest,
          from?.generation ?? Number.MAX_SAFE_INTEGER,
          from?.customer ?? -1,
          limit + 1,
          // The lake may not know yet whom somebody has become.
          whose ?? null,
          customer_id ?? null,
        ],
      )
      const { rows, last } = paged(found, limit)
      return {
        data: rows.map(({ customer, changed_at, ...row }) => ({
          ...row,
          changed_at: changed_at.toISOString(),
        })),
        next_cursor: last
          ? ctx.cursors.seal({ generation: last.generation, customer: last.customer }, filters)
          : null,
      }
    },
  }),
]
