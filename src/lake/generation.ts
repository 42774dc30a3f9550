import { join } from 'node:path'
import { anyNumber, type Duck, literal } from '../store/duckdb.ts'
import { type Manifest, Outrun } from './manifest.ts'
import type { Pipeline } from './pipeline.ts'
import { rowFilePath } from './row-file.ts'
import { ROWS, WHOLE } from './serving.ts'
import { SORTED_TABLES } from './sorted.ts'

/** The files of one generation, relative to the lake folder; those of models may be of an earlier refresh. */
export interface Generation {
  generation: number
  base_path: string
  changes_path: string | null
  /** Members of everyone whose row is of the base, when they are newer than it. */
  members_path?: string | null
  /** Not named: those above hold the marts as well. */
  models_base_path?: string
  models_changes_path?: string | null
  /** Marts of everyone, when they are newer than the base. */
  models_sums_path?: string | null
}

/** The files that hold tables. */
export const tablePathsOf = (generation: Omit<Generation, 'generation'>): Set<string> =>
  new Set(
    [
      generation.base_path,
      generation.changes_path,
      generation.members_path,
      generation.models_base_path,
      generation.models_changes_path,
      generation.models_sums_path,
    ].flatMap((path) => path ?? []),
  )

/** With the rows that are looked up beside them. */
export const pathsOf = (generation: Omit<Generation, 'generation'>): Set<string> =>
  new Set([...tablePathsOf(generation)].flatMap((path) => [path, rowFilePath(path)]))

/** The files of its models, by what they are. */
export const modelPathsOf = (generation: Omit<Generation, 'generation'>) => ({
  base: generation.models_base_path ?? generation.base_path,
  changes:
    (generation.models_base_path === undefined ? generation.changes_path : generation.models_changes_path) ??
    null,
  sums: generation.models_sums_path ?? null,
})

/** The newest generation of a brand, or the one asked for while cursors may still walk it; undefined before the first. */
export const generationOf = (
  { postgres }: Pick<Pipeline, 'postgres'>,
  brandId: string,
  wanted?: number,
): Promise<Generation | undefined> =>
  postgres.pipeline.maybe<Generation>('lake_served', [brandId, wanted ?? null])

/** The generation that a session's manifest is of. Throws Outrun when another was published since: its files are not the session's. */
export async function generationSeen(
  pipeline: Pick<Pipeline, 'postgres'>,
  { manifest }: { manifest: Pick<Manifest, 'brandId' | 'generation'> },
): Promise<Generation | undefined> {
  const newest = await generationOf(pipeline, manifest.brandId)
  if (newest && newest.generation !== manifest.generation) throw new Outrun('refresh')
  return newest
}

/** To leave out those in a table of customers; rows of nobody when it has a null. */
export async function without(duck: Duck, table: string): Promise<string> {
  const [nobody] = await duck.rows(`select 1 from ${table} where customer is null limit 1`)
  return `anti join ${table} using (customer)${nobody ? ' where customer is not null' : ''}`
}

const PLACED = 'customers_placed'

/** Members, and beside those of a base the same as words. */
const OF_MEMBERS: ReadonlySet<string> = new Set(['members', 'member_words', 'member_places'])

/** What the files of segments hold; all else is of models. */
export const OF_SEGMENTS: ReadonlySet<string> = new Set([
  'customers',
  'customer_marks',
  'customer_texts',
  ...OF_MEMBERS,
  ...SORTED_TABLES,
])

/** What a generation without changes has of them: pages of members read both files. */
const NO_CHANGES = [
  'replaced as select customer from base.customers',
  'members as from base.members',
  'customers as from base.customers',
]

/** Where a table's rows are, by their names in the instance. */
export interface Whereabouts {
  everyone: string
  /** The rows of those in `replaced`, who have none of everyone's that count. */
  changes?: { rows: string; replaced: string }
}

/** The tables of an attached generation by name. */
export type Places = ReadonlyMap<string, Whereabouts>

/** Published rows of the customers in a table, as SQL. */
export function publishedRows(places: Places, table: string, customers: string): string {
  const place = places.get(table)
  if (!place) throw new Error(`${table} is not published`)
  const { everyone, changes } = place
  const unchanged = changes ? `anti join ${changes.replaced} using (customer)` : ''
  const theirs = `from ${everyone}
    semi join (from ${customers} ${unchanged} where ${anyNumber('customer')}) as unchanged using (customer)`
  return changes
    ? `${theirs} union all by name from ${changes.rows} semi join ${customers} using (customer)`
    : theirs
}

/**
 * Opens a generation's tables read-only, as tables and views of schema `published`. Customers have a position, their
 * place by customer id in the base: only `customers_placed` and members show it. Returns what the views are made of.
 * `only`: the only ones that are opened, marts among them.
 */
export async function attachGeneration(
  { duck, lakeDir }: { duck: Duck; lakeDir: string },
  generation: Generation,
  only?: readonly string[],
): Promise<Map<string, Whereabouts>> {
  const { segments, models, members, sums } = await attachFiles({ duck, lakeDir }, generation)
  const tables = await duck.rows<{ at: string; schema: string; name: string }>(
    `select database_name as at, schema_name as schema, table_name as name from duckdb_tables()
     where database_name in ('base', 'members_base', 'changes', 'models_base', 'models_changes', 'models_sums')`,
  )
  const has = (at: string | null, schema: string, name: string) =>
    tables.some((table) => table.at === at && table.schema === schema && table.name === name)
  const statements = ['create schema published']
  const found = new Map<string, Whereabouts>()
  for (const { part, isOurs } of [
    { part: segments, isOurs: (name: string) => OF_SEGMENTS.has(name) },
    { part: models, isOurs: (name: string) => !OF_SEGMENTS.has(name) },
  ]) {
    const { base, changes } = part
    const unchanged = has(changes, ROWS, 'replaced') ? await without(duck, `${changes}.replaced`) : ''
    for (const { at, name } of tables) {
      const from = OF_MEMBERS.has(name) ? members : base
      if (at !== from || !isOurs(name) || only?.includes(name) === false) continue
      const everyone = has(changes, WHOLE, name)
        ? `${changes}.${WHOLE}.${name}`
        : part === models && has(sums, ROWS, name)
          ? `${sums}.${name}`
          : `${from}.${name}`
      const isWhole = everyone !== `${from}.${name}`
      const changed = !isWhole && has(changes, ROWS, name) ? `${changes}.${name}` : undefined
      found.set(name, {
        everyone,
        ...(changed && { changes: { rows: changed, replaced: `${changes}.replaced` } }),
      })
      const rows = changed
        ? `from ${everyone} ${unchanged} union all by name from ${changed}`
        : `from ${everyone}`
      statements.push(`create view published.${name === 'customers' ? PLACED : name} as ${rows}`)
    }
  }
  if (only) {
    await duck.run(statements.join('; '))
    return found
  }
  statements.push(
    `create view published.customers as select * exclude (position) from published.${PLACED}`,
    `create view published.base_members as from ${members}.members`,
  )
  if (!generation.changes_path)
    statements.push(...NO_CHANGES.map((table) => `create table changes.${table} limit 0`))
  await duck.run(statements.join('; '))
  return found
}

/** Attaches the files of a generation, each once: under which names. */
async function attachFiles({ duck, lakeDir }: { duck: Duck; lakeDir: string }, generation: Generation) {
  const attached = new Map<string, string>()
  const attach = async (path: string | null | undefined, as: string): Promise<string | null> => {
    if (!path) return null
    const known = attached.get(path)
    if (known) return known
    await duck.run(`attach ${literal(join(lakeDir, path))} as ${as} (read_only)`)
    attached.set(path, as)
    return as
  }
  const ofModels = modelPathsOf(generation)
  const segments = {
    base: await attach(generation.base_path, 'base'),
    changes: await attach(generation.changes_path, 'changes'),
  }
  const models = {
    base: await attach(ofModels.base, 'models_base'),
    changes: await attach(ofModels.changes, 'models_changes'),
  }
  const members = (await attach(generation.members_path, 'members_base')) ?? segments.base
  const sums = await attach(ofModels.sums, 'models_sums')
  if (!generation.changes_path) await duck.run(`attach ':memory:' as changes`)
  return { segments, models, members, sums }
}
