import { v7 as uuidv7 } from 'uuid'
import { errorCode, fail } from '../errors.ts'
import type { Db } from '../op.ts'
import { parseDefinition } from './definition.ts'

export const NAME_LENGTH = 200
export const DESCRIPTION_LENGTH = 2_000

/** A saved segment as Postgres has it; definition and schema_version only where one segment is read. */
export interface SavedSegment {
  id: string
  name: string
  description: string | null
  status: 'active' | 'archived'
  current_version_id: string
  created_by: string
  created_at: Date
  updated_at: Date
  version: number
  ordinal: number
  evaluated_version: number | null
  member_count: number
  generation: number
  evaluated_at: Date | null
  last_run_at: Date | null
  evaluating: boolean
  error: string | null
}

export interface SegmentWithDefinition extends SavedSegment {
  schema_version: number
  definition: Record<string, unknown>
}

export interface NewSegment {
  name: string
  description?: string | null
  definition: unknown
  createdBy: string
}

const UNIQUE_VIOLATION = '23505'

/** Saves a valid definition as version 1 of a new active segment. Fails with bad_request or conflict. */
export async function createSegment(db: Db, segment: NewSegment): Promise<SegmentWithDefinition> {
  const name = segment.name.trim()
  checkLength('name', name, 1, NAME_LENGTH)
  checkLength('description', segment.description ?? '', 0, DESCRIPTION_LENGTH)
  parseDefinition(segment.definition)
  const id = uuidv7()
  const versionId = uuidv7()
  try {
    return await db.tx(async (tx) => {
      await tx.one('segments_of_brand_lock')
      await tx.one('segment_insert', [id, name, segment.description ?? null, versionId, segment.createdBy])
      await tx.run('segment_version_insert', [id, 1, versionId, segment.definition, segment.createdBy])
      await tx.run('segment_definitions_changed')
      return await tx.one<SegmentWithDefinition>('segment_by_id', [id])
    })
  } catch (error) {
    if (errorCode(error) !== UNIQUE_VIOLATION) throw error
    throw fail('conflict', `An active segment is named "${name}" already.`, { cause: error })
  }
}

function checkLength(field: string, value: string, least: number, most: number): void {
  const length = [...value].length
  if (length < least || length > most)
    throw fail('bad_request', `${field} must have ${least} to ${most} characters`)
}

const iso = (at: Date | null) => at?.toISOString() ?? null

/** The audience part of a segment, as every segment answer embeds it. */
export const audienceOf = (segment: SavedSegment) => ({
  evaluation_status: segment.evaluating
    ? ('evaluating' as const)
    : segment.error !== null
      ? ('failed' as const)
      : segment.evaluated_at === null
        ? ('not_evaluated' as const)
        : ('evaluated' as const),
  member_count: segment.member_count,
  generation: segment.generation,
  evaluated_at: iso(segment.evaluated_at),
  last_run_at: iso(segment.last_run_at),
  current_version_evaluated: segment.evaluated_version === segment.version,
})

/** A list item: without version, schema_version and definition. */
export const segmentItem = (segment: SavedSegment) => ({
  id: segment.id,
  name: segment.name,
  description: segment.description,
  status: segment.status,
  current_version_id: segment.current_version_id,
  created_by: segment.created_by,
  created_at: segment.created_at.toISOString(),
  updated_at: segment.updated_at.toISOString(),
  audience: audienceOf(segment),
})

export const segmentWithDefinition = (segment: SegmentWithDefinition) => ({
  ...segmentItem(segment),
  version: segment.version,
  schema_version: segment.schema_version,
  definition: segment.definition,
})
