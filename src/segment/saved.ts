import { v7 as uuidv7 } from 'uuid'
import { fail, isUniqueViolation } from '../errors.ts'
import { parseStored } from '../event/exact.ts'
import { isBlank } from '../fields.ts'
import type { Db, Statements } from '../op.ts'
import { BUILT_IN } from './built-in.ts'
import { type Definition, parseDefinition } from './definition.ts'
import { checkReferences } from './reference.ts'
import { referencesOf } from './tree.ts'

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
  first_evaluated_at: Date | null
  error: string | null
}

export interface SegmentWithDefinition extends SavedSegment {
  schema_version: number
  /** JSON text. */
  definition: string
}

export interface NewSegment {
  name: string
  description?: string | null
  definition: unknown
  createdBy: string
}

/** Saves a valid definition as version 1 of a new active segment. Fails with bad_request or conflict. */
export async function createSegment(db: Db, segment: NewSegment): Promise<SegmentWithDefinition> {
  const name = segment.name.trim()
  checkLength('name', isBlank(name) ? '' : name, 1, NAME_LENGTH)
  checkLength('description', segment.description ?? '', 0, DESCRIPTION_LENGTH)
  const tree = parseDefinition(segment.definition)
  const id = uuidv7()
  const versionId = uuidv7()
  try {
    return await db.tx(async (tx) => {
      await tx.one('segments_of_brand_lock')
      await checkReferences(tx, id, tree)
      await tx.one('segment_insert', [id, name, segment.description ?? null, versionId, segment.createdBy])
      await addVersion(tx, { id, version: 1, versionId, tree, ...segment })
      return await tx.one<SegmentWithDefinition>('segment_by_id', [id])
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw fail('conflict', `An active segment is named "${name}" already.`, { cause: error })
  }
}

interface NewVersion {
  id: string
  version: number
  versionId: string
  tree: Definition
  definition: unknown
  createdBy: string
}

async function addVersion(tx: Statements, version: NewVersion): Promise<void> {
  const { id, tree, definition, createdBy } = version
  const refersTo = [...new Set(referencesOf(tree).map(({ segmentId }) => segmentId))]
  await tx.run('segment_version_insert', [
    id,
    version.version,
    version.versionId,
    definition,
    createdBy,
    refersTo,
  ])
  await tx.run('segment_definitions_changed')
}

/** The segment, of a brand whose segments are locked. Fails with not_found, or with conflict for one that cannot be changed. */
async function changeable(tx: Statements, id: string): Promise<SegmentWithDefinition> {
  const segment = await tx.one<SegmentWithDefinition>('segment_by_id', [id])
  if (segment.created_by === BUILT_IN)
    throw fail('conflict', `"${segment.name}" is built in: it cannot be changed or archived.`)
  if (segment.status === 'archived') throw fail('conflict', `"${segment.name}" is archived.`)
  return segment
}

/** Saves a checked definition as the version after the given one of a segment that the transaction has locked. */
export async function saveNextVersion(
  tx: Statements,
  { version, ...segment }: Omit<NewVersion, 'versionId'>,
): Promise<void> {
  const next = { ...segment, version: version + 1, versionId: uuidv7() }
  await tx.run('segment_set_version', [next.id, next.version, next.versionId])
  await addVersion(tx, next)
}

/** Saves a valid definition as the next version; earlier ones are kept. Fails with bad_request, not_found or conflict. */
export async function updateSegment(
  db: Db,
  { id, definition, createdBy }: { id: string; definition: unknown; createdBy: string },
): Promise<SegmentWithDefinition> {
  const tree = parseDefinition(definition)
  return await db.tx(async (tx) => {
    await tx.one('segments_of_brand_lock')
    await checkReferences(tx, id, tree)
    const { version } = await changeable(tx, id)
    await saveNextVersion(tx, { id, version, tree, definition, createdBy })
    return await tx.one<SegmentWithDefinition>('segment_by_id', [id])
  })
}

/** Ends a segment's evaluation for good. Fails with not_found, or with conflict that names the segments it is needed by. */
export async function archiveSegment(db: Db, id: string): Promise<SegmentWithDefinition> {
  return await db.tx(async (tx) => {
    await tx.one('segments_of_brand_lock')
    const { name } = await changeable(tx, id)
    await tx.one('segment_lock', [id])
    const referrers = await tx.many<{ name: string; is_campaign: boolean }>('segment_referrers', [id])
    const named = referrers.map((each) => `${each.is_campaign ? 'the campaign ' : ''}"${each.name}"`)
    if (named.length)
      throw fail('conflict', `"${name}" is used by ${named.join(', ')}: take it out of there first.`)
    await tx.run('segment_archive', [id])
    await tx.run('segment_definitions_changed')
    return await tx.one<SegmentWithDefinition>('segment_by_id', [id])
  })
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
  description: segment.description ?? '',
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
  definition: parseStored(segment.definition) as Record<string, unknown>,
})
