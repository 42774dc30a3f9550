import * as v from 'valibot'
import { fail } from '../errors.ts'
import { count, id, named, text, time, timestamp, uuid } from '../fields.ts'
import { type Op, op } from '../op.ts'
import { parseDefinition, parseSaved } from '../segment/definition.ts'
import { customerOf, explain } from '../segment/explain.ts'
import { compileOne, displayOne } from '../segment/plan.ts'
import { checkReferences } from '../segment/reference.ts'
import { findCustomer, noSuchCustomer } from './customer-rows.ts'
import * as example from './segment-example.ts'
import { sentDefinition as definition, segmentById, segmentPath } from './segment-fields.ts'

const Estimate = named('Estimate', {
  count,
  segment_id: v.nullable(id),
  version: v.nullable(count),
  estimated_at: time,
})

const Preview = named('SegmentPreview', {
  segment_id: id,
  version: count,
  generation: count,
  entering: count,
  leaving: count,
  staying: count,
  estimated_at: time,
})

const Explanation = named('SegmentExplanation', {
  segment_id: id,
  version: count,
  customer_id: v.string(),
  member: v.boolean(),
  conditions: v.array(
    named('ExplainedCondition', {
      path: v.string(),
      words: v.string(),
      turned: v.boolean(),
      actual: v.nullable(v.union([v.string(), v.number(), v.boolean(), v.array(v.string())])),
      holds: v.boolean(),
      decides: v.boolean(),
    }),
  ),
  explained_at: time,
})

const SegmentSql = named('SegmentSql', { segment_id: id, version: count, sql: v.string() })

/** What a rule matches, and why, computed on request from the newest data. */
export const segmentQuestionOps: readonly Op[] = [
  op({
    name: 'estimate_segment',
    route: 'POST /v1/segments/estimate',
    scopes: ['segments:read'],
    feature: 'cdp',
    exact: true,
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
      const tree = saved ? parseSaved(saved) : parseDefinition(body.definition)
      const newest = await checkReferences(ctx.db, saved?.id ?? null, tree, {
        asOf: body.as_of,
        isSaved: saved !== null,
      })
      const sources = await ctx.lake.sources(body.as_of, newest)
      const { text: members, values } = compileOne(tree, sources.asOf)
      const [row] = await sources.rows<{ members: number }>(
        `select count(*) as members from (${members})`,
        values,
      )
      return {
        count: row?.members ?? 0,
        segment_id: saved?.id ?? null,
        version: saved?.version ?? null,
        estimated_at: sources.asOf.toISOString(),
      }
    },
  }),

  op({
    name: 'preview_segment',
    route: 'POST /v1/segments/preview',
    scopes: ['segments:read'],
    feature: 'cdp',
    exact: true,
    rate: { count: 30, per: 'minute' },
    errors: ['not_found'],
    effect: 'read',
    what: 'What a changed rule would do to a saved segment: how many of its members stay or leave, how many enter. Nothing is saved.',
    input: { body: v.strictObject({ segment_id: uuid, definition }) },
    output: Preview,
    example: example.PREVIEWED,
    run: async (ctx, { body }) => {
      const tree = parseDefinition(body.definition)
      const referred = await checkReferences(ctx.db, body.segment_id, tree)
      const saved = await segmentById(ctx, body.segment_id)
      const sources = await ctx.lake.sources(undefined, Math.max(saved.generation, referred))
      const { text: members, values } = compileOne(tree, sources.asOf)
      const [row] = await sources.rows<{ entering: number; leaving: number; staying: number }>(
        `with wanted as (${members}),
         present as (select customer from segment_members where segment_id = $${values.length + 1}::varchar)
         select
           count(*) filter (present.customer is null) as entering,
           count(*) filter (wanted.customer is null) as leaving,
           count(*) filter (present.customer is not null and wanted.customer is not null) as staying
         from wanted full join present using (customer)`,
        [...values, saved.id],
      )
      return {
        segment_id: saved.id,
        version: saved.version,
        generation: saved.generation,
        entering: row?.entering ?? 0,
        leaving: row?.leaving ?? 0,
        staying: row?.staying ?? 0,
        estimated_at: sources.asOf.toISOString(),
      }
    },
  }),

  op({
    name: 'explain_segment',
    route: 'GET /v1/segments/{id}/explain',
    scopes: ['segments:read'],
    feature: 'cdp',
    errors: ['not_found'],
    what: 'Why a customer is a member of a segment or not, by the newest data: each condition in words, the actual value, whether the condition at its path holds, and whether it alone decides. One that a not turns round (turned) speaks for membership where it does not hold.',
    input: {
      path: segmentPath,
      query: v.strictObject({ customer_id: text({ min: 1, max: 256 }) }),
    },
    output: Explanation,
    example: example.EXPLAINED,
    run: async (ctx, { path, query }) => {
      const segment = await segmentById(ctx, path.id)
      const { customer_id } = await findCustomer(ctx, query.customer_id)
      const sources = await ctx.lake.sources(undefined, segment.generation)
      // The lake may not know yet whom somebody has become.
      const found = (await customerOf(sources, customer_id)) ?? (await customerOf(sources, query.customer_id))
      if (found === undefined) throw noSuchCustomer()
      return {
        segment_id: segment.id,
        version: segment.version,
        customer_id: found.customer_id,
        ...(await explain(sources, segment, found.customer)),
        explained_at: sources.asOf.toISOString(),
      }
    },
  }),

  op({
    name: 'get_segment_sql',
    route: 'GET /v1/segments/{id}/sql',
    scopes: ['segments:read'],
    feature: 'cdp',
    what: 'A segment as one SQL statement over the models, as `recoup sql` runs it.',
    input: { path: segmentPath },
    output: SegmentSql,
    example: example.SQL,
    run: async (ctx, { path }) => {
      const segment = await segmentById(ctx, path.id)
      const sql = displayOne(parseSaved(segment))
      return { segment_id: segment.id, version: segment.version, sql }
    },
  }),
]
