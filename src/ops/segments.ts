import * as v from 'valibot'
import { userOf } from '../access/permit.ts'
import { list, paging, text } from '../fields.ts'
import { type Op, op, type Page } from '../op.ts'
import {
  archiveSegment,
  createSegment,
  DESCRIPTION_LENGTH,
  type SavedSegment,
  segmentItem,
  segmentWithDefinition,
  updateSegment,
} from '../segment/saved.ts'
import * as example from './segment-example.ts'
import {
  sentDefinition as definition,
  Segment,
  SegmentItem,
  segmentById,
  segmentPath,
  sentName,
} from './segment-fields.ts'
import { paged } from './walk.ts'

const LISTED: Page = { default: 200, max: 500, over: 'refuse' }

interface PagePosition {
  created_at: string
  id: string
}

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
      const found = await db.many<SavedSegment & { created_at_exact: string }>('segments_page', [
        status,
        from?.created_at ?? null,
        from?.id ?? null,
        limit + 1,
      ])
      const { rows, last } = paged(found, limit)
      return {
        data: rows.map(segmentItem),
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
    exact: true,
    errors: ['conflict'],
    what: 'Save a segment. Its members appear with the next refresh, within 15 minutes.',
    input: {
      body: v.strictObject({
        name: sentName,
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
    input: { path: segmentPath },
    output: Segment,
    example: { path: { id: example.ID }, output: example.SEGMENT },
    run: async (ctx, input) => segmentWithDefinition(await segmentById(ctx, input.path.id)),
  }),

  op({
    name: 'update_segment',
    route: 'PATCH /v1/segments/{id}',
    scopes: ['segments:write'],
    signIn: true,
    feature: 'cdp',
    exact: true,
    errors: ['conflict'],
    what: 'Change the rule of a segment: the next version is saved, earlier ones are kept. Members follow with the next refresh.',
    input: { path: segmentPath, body: v.strictObject({ definition }) },
    output: Segment,
    example: example.UPDATED,
    run: async ({ db, caller }, { path: { id }, body }) =>
      segmentWithDefinition(
        await updateSegment(db, { id, definition: body.definition, createdBy: userOf(caller) }),
      ),
  }),

  op({
    name: 'archive_segment',
    route: 'POST /v1/segments/{id}/archive',
    scopes: ['segments:write'],
    signIn: true,
    feature: 'cdp',
    errors: ['conflict'],
    effect: 'destroy',
    what: 'End the evaluation of a segment for good. Its versions and history stay readable, its name is free again.',
    input: { path: segmentPath, body: v.optional(v.strictObject({})) },
    output: SegmentItem,
    example: example.ARCHIVED,
    run: async ({ db }, { path: { id } }) => segmentItem(await archiveSegment(db, id)),
  }),
]
