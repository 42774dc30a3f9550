import { v7 } from 'uuid'
import { fail, isUniqueViolation } from '../../errors.ts'
import { parseExactly } from '../../event/exact.ts'
import { checkSchema } from '../../event/payload-schema.ts'
import type { Db, Statements } from '../../op.ts'
import { checkMappings, type Mappings } from './mappings.ts'
import { refuseReservedType } from './slug.ts'

export const TYPE = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const MOST_DEFINITIONS = 200
export const TYPE_SAYS = 'must be a letter followed by letters, digits or underscores, at most 64 characters'

/** An event type of a provider. Integers beyond 2^53 in its schema are raw JSON (src/event/exact.ts). */
export interface EventDefinition {
  id: string
  provider_id: string
  type: string
  name: string
  description: string | null
  payload_schema: Record<string, unknown>
  identifier_mappings: Mappings
  schema_version: number
  source_template_key: string | null
  is_enabled: boolean
  created_at: Date
  updated_at: Date
}

/** As Postgres has it; `payload_schema` as text: read as JSON, it would lose digits. */
type DefinitionRow = Omit<EventDefinition, 'payload_schema'> & { payload_schema: string }

const definitionOf = (row: DefinitionRow): EventDefinition => ({
  ...row,
  payload_schema: parseExactly(row.payload_schema) as Record<string, unknown>,
})

export interface NewDefinition {
  type: string
  name: string
  description?: string | null
  payload_schema: Record<string, unknown>
  identifier_mappings: Mappings
  is_enabled?: boolean
}

export type DefinitionChange = Partial<NewDefinition> & { schema_version?: number }

/** A type of the brand that is called otherwise from now on. */
export interface Renamed {
  from: string
  to: string
  by: string
  /** Whose type it is. */
  providerId: string
  definitionId: string
  /** Another provider's definition has the old name as well: whoever names no provider may mean that one. */
  isStillUsed: boolean
}

/** Something that names event types, and how it takes up a new name within the transaction of the renaming. */
export type Follower = (tx: Statements, renamed: Renamed) => Promise<void>

/** All definitions of a provider, oldest first; throws `not_found` for one that is not there. */
export async function listDefinitions(db: Statements, providerId: string): Promise<EventDefinition[]> {
  await db.one('provider_by_id', [providerId])
  return (await db.many<DefinitionRow>('definitions_of_provider', [providerId])).map(definitionOf)
}

export const getDefinition = async (
  db: Statements,
  providerId: string,
  id: string,
): Promise<EventDefinition> => definitionOf(await db.one<DefinitionRow>('definition_by_id', [providerId, id]))

/** Registers an event type. Fails with not_found, bad_request, conflict or limit_reached. */
export async function createDefinition(
  db: Db,
  providerId: string,
  definition: NewDefinition,
): Promise<EventDefinition> {
  check(definition)
  await db.one('provider_by_id', [providerId])
  refuseReservedType(definition.type)
  return await onceByType(definition.type, () => db.tx((tx) => insertDefinition(tx, providerId, definition)))
}

export async function insertDefinition(
  tx: Statements,
  providerId: string,
  definition: NewDefinition,
  templateKey: string | null = null,
): Promise<EventDefinition> {
  await refuseTooMany(tx)
  const {
    type,
    name,
    description = null,
    payload_schema,
    identifier_mappings,
    is_enabled = true,
  } = definition
  const row = await tx.one<DefinitionRow>('definition_insert', [
    v7(),
    providerId,
    type,
    name,
    description,
    JSON.stringify(payload_schema),
    JSON.stringify(identifier_mappings),
    templateKey,
    is_enabled,
  ])
  return definitionOf(row)
}

async function refuseTooMany(tx: Statements): Promise<void> {
  await tx.one('providers_lock')
  const { count } = await tx.one<{ count: number }>('definitions_count')
  if (count >= MOST_DEFINITIONS)
    throw fail(
      'limit_reached',
      `A brand has at most ${MOST_DEFINITIONS} event definitions, and this one has them all: change one that is no longer used`,
    )
}

/**
 * Changes what is given. A new payload_schema needs the schema_version that it replaces; a new type is taken up by all
 * that named the old one. Fails with not_found, bad_request or conflict.
 */
export async function updateDefinition(
  db: Db,
  place: { providerId: string; id: string; by: string },
  change: DefinitionChange,
  followers: readonly Follower[],
): Promise<EventDefinition> {
  const { providerId, id, by } = place
  check(change)
  if (change.payload_schema !== undefined && change.schema_version === undefined)
    throw fail('bad_request', 'schema_version is required with payload_schema: the version that it replaces')
  return await onceByType(change.type, () =>
    db.tx(async (tx) => {
      // Who adds or renames types takes turns, before any of them is taken.
      if (change.type !== undefined) await tx.one('providers_lock')
      const before = definitionOf(await tx.one<DefinitionRow>('definition_for_change', [providerId, id]))
      refuseStale(before, change)
      const after = { ...before, ...given(change) }
      const isRenamed = after.type !== before.type
      if (isRenamed) refuseReservedType(after.type)
      const updated = await tx.one<DefinitionRow>('definition_update', [
        providerId,
        id,
        after.type,
        after.name,
        after.description,
        JSON.stringify(after.payload_schema),
        JSON.stringify(after.identifier_mappings),
        before.schema_version + (change.payload_schema === undefined ? 0 : 1),
        after.is_enabled,
      ])
      if (isRenamed)
        await follow(tx, { from: before.type, to: after.type, by, providerId, definitionId: id }, followers)
      return definitionOf(updated)
    }),
  )
}

const given = (change: DefinitionChange) =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))

function refuseStale(
  { schema_version: current }: EventDefinition,
  { schema_version: known }: DefinitionChange,
): void {
  if (known !== undefined && known !== current)
    throw fail(
      'conflict',
      `schema_version: the definition is at ${current}, not ${known}: read it again and apply the change to that`,
    )
}

async function follow(
  tx: Statements,
  renamed: Omit<Renamed, 'isStillUsed'>,
  followers: readonly Follower[],
): Promise<void> {
  const { used: isStillUsed } = await tx.one<{ used: boolean }>('definition_type_used', [renamed.from])
  for (const takeUp of followers) await takeUp(tx, { ...renamed, isStillUsed })
}

/** Checks what is given of a definition. */
function check({ type, payload_schema, identifier_mappings }: DefinitionChange): void {
  if (type !== undefined && !TYPE.test(type)) throw fail('bad_request', `type ${TYPE_SAYS}`)
  if (payload_schema !== undefined) checkSchema(payload_schema)
  if (identifier_mappings !== undefined) checkMappings(identifier_mappings)
}

async function onceByType<T>(type: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw fail('conflict', `type: the provider has an event definition "${type}" already`, { cause: error })
  }
}
