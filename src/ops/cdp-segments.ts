import * as v from 'valibot'
import { userOf } from '../access/permit.ts'
import { count, id, jsonObject, named, paging, text, time } from '../fields.ts'
import { type Op, op, type Page } from '../op.ts'
import { exportPage } from '../segment/export.ts'
import { type MemberPosition, placeIn } from '../segment/member-page.ts'
import { createSegment, DESCRIPTION_LENGTH, type SavedSegment } from '../segment/saved.ts'
import { definitionOf } from '../segment/vocabulary.ts'
import * as example from './cdp-example.ts'
import { checkWindow, LISTED, offsetPaging, PROFILES, resultsOf, WINDOW } from './cdp-fields.ts'
import { Identity, identitiesOf, Profile, profileOf } from './cdp-profile.ts'
import { customersNamed } from './customer-rows.ts'
import { segmentById, segmentPath, sentName } from './segment-fields.ts'

/** Clamped at both ends, as the contract says of the export alone. */
const EXPORTED: Page = { default: 10_000, max: 10_000, over: 'clamp', under: 'clamp' }

const CdpSegment = named('CdpSegment', {
  id,
  name: v.string(),
  description: v.optional(v.string()),
  scope: v.string(),
})

const ExportLine = named('ExportLine', {
  id: v.string(),
  provenance: Profile.entries.provenance,
  email: v.optional(v.string()),
  phoneNumber: v.optional(v.string()),
  firstName: v.optional(v.string()),
  lastName: v.optional(v.string()),
  city: v.optional(v.string()),
  countryName: v.optional(v.string()),
  zipCode: v.optional(v.string()),
  shopDomain: v.optional(v.string()),
  storeCustomerId: v.optional(v.string()),
  mergeIdentifier: v.optional(v.string()),
  properties: v.optional(v.object({ firstVisit: v.optional(time), lastVisit: v.optional(time) })),
})

const segmentOf = ({ id: segmentId, name, description }: SavedSegment, scope: string) => ({
  id: segmentId,
  name,
  ...(description !== null && { description }),
  scope,
})

const reading = { surface: 'cdp', scopes: ['segments:read'], feature: 'cdp', tool: false } as const

export const cdpSegmentOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_cdp_segments',
    route: 'GET /cdp/segments',
    what: 'The active segments of the brand, newest first.',
    output: v.object({ list: v.array(CdpSegment), scope: v.string() }),
    example: example.SEGMENTS,
    run: async ({ db, brand }) => {
      const rows = await db.many<SavedSegment>('segments_page', ['active', null, null, null])
      return { list: rows.map((row) => segmentOf(row, brand.shop_domain)), scope: brand.shop_domain }
    },
  }),

  op({
    name: 'define_cdp_segment',
    route: 'POST /cdp/segments',
    surface: 'cdp',
    scopes: ['segments:write'],
    signIn: true,
    feature: 'cdp',
    exact: true,
    errors: ['conflict'],
    tool: false,
    what: 'Save a segment that is defined by a condition of the vocabulary. It is saved as the rule that means the same, which the operations of /v1/segments show and change; a condition that rules cannot say is refused. Its members appear with the next refresh, within 15 minutes.',
    input: {
      body: v.strictObject({
        name: sentName,
        description: v.optional(text({ max: DESCRIPTION_LENGTH })),
        condition: jsonObject,
      }),
    },
    output: CdpSegment,
    example: example.DEFINED,
    run: async ({ db, brand, caller }, { body: { name, description, condition } }) =>
      segmentOf(
        await createSegment(db, {
          name,
          description,
          definition: definitionOf(condition),
          createdBy: userOf(caller),
        }),
        brand.shop_domain,
      ),
  }),

  op({
    ...reading,
    name: 'list_cdp_segment_members',
    route: 'GET /cdp/segments/{id}/members',
    page: LISTED,
    errors: ['upstream_error'],
    what: 'Members of a segment as of its last refresh, as profiles with their identities. `totalSize` ends at 10,000: beyond that, export.',
    input: { path: segmentPath, query: v.strictObject({ ...offsetPaging(LISTED), sort: PROFILES.schema }) },
    output: v.object({
      segmentId: id,
      list: v.array(Profile),
      identities: v.record(v.string(), Identity),
      totalSize: count,
      offset: count,
      pageSize: count,
      scope: v.string(),
    }),
    example: example.MEMBERS,
    run: async (ctx, { path: { id: segmentId }, query: { limit, offset, sort } }) => {
      checkWindow({ limit, offset })
      const { ordinal, evaluated_at } = await segmentById(ctx, segmentId)
      const served = evaluated_at === null ? null : await resultsOf(ctx)
      const keys = served
        ? await served.rows<{ customer: number }>(
            `select customer
             from (select customer from members where segment = $1) join customers using (customer)
             order by ${PROFILES.sql(sort)} limit $2 offset $3`,
            [ordinal, limit, offset],
          )
        : []
      const named = keys.map(({ customer }) => customer)
      const rows = served ? await customersNamed(served, named) : []
      const [all] = served
        ? await served.rows<{ members: number }>(
            'select count(*) as members from (from members where segment = $1 limit $2)',
            [ordinal, WINDOW],
          )
        : []
      return {
        segmentId,
        list: rows.map(profileOf),
        identities: rows.length ? await identitiesOf(ctx.db, rows) : {},
        totalSize: all?.members ?? 0,
        offset,
        pageSize: limit,
        scope: ctx.brand.shop_domain,
      }
    },
  }),

  op({
    ...reading,
    name: 'export_cdp_segment',
    route: 'GET /cdp/segments/{id}/export',
    page: EXPORTED,
    tellsForeignCursors: true,
    errors: ['upstream_error'],
    what: 'All members of a segment, up to 10,000 lines at a time, in the order of their ids. A walk stays in the refresh that it began in for 24 hours; later it goes on after the same member in the newest.',
    input: { path: segmentPath, query: v.strictObject(paging(EXPORTED)) },
    output: v.object({ lines: v.string(), next_cursor: v.nullable(v.string()) }),
    ndjson: ExportLine,
    example: example.EXPORTED,
    run: async (ctx, { path: { id: segmentId }, query: { limit, cursor } }) => {
      const filters = { id: segmentId }
      const from = ctx.cursors.open<MemberPosition>(cursor, filters)
      const segment = await segmentById(ctx, segmentId)
      const served = segment.evaluated_at === null ? null : await resultsOf(ctx, from?.generation)
      if (!served) return { lines: '', next_cursor: null }
      const page = await exportPage(served, ctx.db, {
        ordinal: segment.ordinal,
        ...placeIn(served, from),
        limit,
        shopDomain: ctx.brand.shop_domain,
      })
      return {
        lines: page.lines,
        next_cursor:
          page.next === null
            ? null
            : ctx.cursors.seal({ generation: served.generation, ...page.next }, filters),
      }
    },
  }),
]
