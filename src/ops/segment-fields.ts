import * as v from 'valibot'
import { isObject } from '../event/exact.ts'
import { count, id, named, text, time, uuid } from '../fields.ts'
import type { Ctx } from '../op.ts'
import { shown } from '../segment/complaint.ts'
import { definitionSchema } from '../segment/describe.ts'
import { NAME_LENGTH, type SegmentWithDefinition } from '../segment/saved.ts'

export const audienceFields = {
  evaluation_status: v.picklist(['not_evaluated', 'evaluating', 'evaluated', 'failed']),
  member_count: count,
  generation: count,
  evaluated_at: v.nullable(time),
  last_run_at: v.nullable(time),
  current_version_evaluated: v.boolean(),
}
const itemFields = {
  id,
  name: v.string(),
  description: v.string(),
  status: v.picklist(['active', 'archived']),
  current_version_id: id,
  created_by: v.string(),
  created_at: time,
  updated_at: time,
  audience: v.object(audienceFields),
}
export const SegmentItem = named('SegmentItem', itemFields)
const definition = v.record(v.string(), v.unknown())
/** As clients send it: with all that rules can say. */
export const sentDefinition = v.pipe(
  v.custom<Record<string, unknown>>(
    isObject,
    ({ input }) => `must be an object with source and rule, not ${shown(input)}`,
  ),
  v.title('SegmentDefinition'),
  v.metadata({ jsonSchema: definitionSchema() }),
)
/** Spaces around it do not count. */
export const sentName = v.pipe(v.string('must be a string'), v.trim(), text({ min: 1, max: NAME_LENGTH }))
export const Segment = named('Segment', { ...itemFields, version: count, schema_version: count, definition })

/** Older changes of members stay in the lake (`member_history` of `recoup sql`). */
export const HISTORY_DAYS = 180

export const segmentPath = v.strictObject({ id: uuid })

/** Fails with not_found. */
export const segmentById = (ctx: Ctx, segmentId: string) =>
  ctx.db.one<SegmentWithDefinition>('segment_by_id', [segmentId])
