import { parseStored } from '../../event/exact.ts'
import { attachGeneration, generationOf, OF_SEGMENTS } from '../../lake/generation.ts'
import { isOneOf } from '../../lake/one-of.ts'
import type { Pipeline } from '../../lake/pipeline.ts'
import { computedAnew } from '../../lake/served.ts'
import { openSession, type Session } from '../../lake/session.ts'
import type { Brand } from '../../op.ts'
import { openHistory, openMembers, openSegmentIds } from '../../segment/members.ts'
import { identifier, literal } from '../../store/duckdb.ts'
import type { Found } from './cut.ts'

/** What the lake has of one person. */
interface LakeData {
  events: unknown[]
  /** Segments that the profiles are in, and each time that they entered or left one, and why. */
  memberships: unknown[]
  membership_history: unknown[]
  /** Rows of the published models, by model; those without any are left out. */
  models: ModelRows[]
}

interface ModelRows {
  model: string
  rows: unknown[]
}

export async function lakeDataOf(
  pipeline: Pipeline,
  brand: Brand,
  { subjects, customerIds }: Pick<Found, 'subjects' | 'customerIds'>,
): Promise<LakeData> {
  if (subjects.length === 0) return { events: [], memberships: [], membership_history: [], models: [] }
  const session = await openSession(pipeline, brand, new Date())
  try {
    return {
      events: await rowsOf(
        session,
        `select event_id, event_type, occurred_at, properties
         from events where ${isOneOf(subjects, 'subject')} order by occurred_at, event_id`,
      ),
      ...(await ofSegments(pipeline, session, subjects)),
      models: await ofModels(pipeline, session, { subjects, customerIds }),
    }
  } finally {
    await session.close()
  }
}

async function ofSegments(
  { postgres }: Pipeline,
  session: Session,
  subjects: readonly number[],
): Promise<Pick<LakeData, 'memberships' | 'membership_history'>> {
  const db = postgres.forBrand(session.manifest.brandId)
  await openMembers(session, 'view')
  await openHistory(session)
  const segments = await db.many<{ id: string; ordinal: number }>('segment_ordinals')
  await openSegmentIds(session.duck, segments)
  const named = await db.many<{ id: string; name: string }>('segment_names', [segments.map(({ id }) => id)])
  const names = new Map(named.map(({ id, name }) => [id, name]))
  const read = async (columns: string, table: string, order: string) => {
    const rows = await rowsOf<{ segment_id: string }>(
      session,
      `select segment_id, customer as subject, ${columns}
       from ${table} join segment_ids using (segment) where ${isOneOf(subjects)} order by ${order}`,
    )
    return rows.map(({ segment_id, ...row }) => ({ segment_id, name: names.get(segment_id), ...row }))
  }
  return {
    memberships: await read('joined_at', 'member_before', 'joined_at, segment, customer'),
    membership_history: await read(
      'action, reason, generation, changed_at',
      'member_history',
      'generation, segment, customer',
    ),
  }
}

/** The type of money, also within lists and structs. */
const AMOUNT = String.raw`DECIMAL\(\d+,\s?2\)`

/** Of the published models those that say whose a row is: by the customer's number, else by its id. */
async function ofModels(
  pipeline: Pipeline,
  session: Session,
  { subjects, customerIds }: Pick<Found, 'subjects' | 'customerIds'>,
): Promise<ModelRows[]> {
  const { brandId, generation } = session.manifest
  if (generation === 0) return []
  const published = await generationOf(pipeline, brandId, generation)
  if (!published) throw computedAnew()
  const tables = await attachGeneration(session, published)
  const columns = await session.duck.rows<{ model: string; key: string; amounts: string | null }>(
    `select
       table_name as model,
       min(column_name) filter (
         (column_name = 'customer' and data_type like '%INT%') or (column_name = 'customer_id' and data_type = 'VARCHAR')
       ) as key,
       string_agg(
         format('{0}::{1} as {0}', '"' || replace(column_name, '"', '""') || '"', regexp_replace(data_type, '${AMOUNT}', 'VARCHAR', 'g')),
         ', '
       ) filter (regexp_matches(data_type, '${AMOUNT}')) as amounts
     from duckdb_columns()
     where schema_name = 'published'
     group by table_name having key is not null order by table_name`,
  )
  const named = `customer_id in (${customerIds.map(literal).join(', ')})`
  const found: ModelRows[] = []
  for (const { model, key, amounts } of columns) {
    if (!tables.has(model) || (OF_SEGMENTS.has(model) && model !== 'customers')) continue
    const theirs = key === 'customer' ? isOneOf(subjects) : named
    const shown = amounts === null ? '*' : `* replace (${amounts})`
    const rows = await rowsOf(session, `select ${shown} from published.${identifier(model)} where ${theirs}`)
    if (rows.length) found.push({ model, rows })
  }
  return found
}

async function rowsOf<Row = unknown>({ duck }: Session, select: string): Promise<Row[]> {
  const rows = await duck.rows<{ json: string }>(
    `select to_json(whole_row)::varchar as json from (${select}) as whole_row`,
  )
  return rows.map(({ json }) => parseStored(json) as Row)
}
