import type { Duck } from '../store/duckdb.ts'
import { literal } from '../store/duckdb.ts'
import { brandFolder, type Reached, STAGING_FOLDER, writeLakeFile } from '../store/lake.ts'
import { type NewFile, unfinished } from './manifest.ts'
import { columnsOf, RELATIONS, type RelationName } from './relations.ts'

/** A brand's rows of one tick go to a file of its own from here on; fewer share one file with other brands'. */
export const OWN_FILE_ROWS = 50_000

/** Rows of a row group, which are read together or not at all. */
const GROUP_ROWS = 122_880
const GROUP_ROWS_LEAST = 4_096
/** More of them take longer to be found in than their rows are read. */
const SHARED_GROUPS = 32

/**
 * Rows of a group where many brands share a file, sorted by brand, of which each reads its own: 20 of 20,000 events of 1,000
 * brands in 5 ms, in one group 9; 320 of 320,000 in 13, so 47. The file is a hundredth to a tenth larger.
 */
export const sharedGroup = (rows: number): number =>
  Math.min(Math.max(Math.ceil(rows / SHARED_GROUPS), GROUP_ROWS_LEAST), GROUP_ROWS)

export interface Staged {
  relation: RelationName
  /** Rows of any number of brands. */
  table: string
  /** A SELECT of the relation's columns over some of these rows that keeps their order; default: they have them. */
  shown?: (rows: string) => string
  tick: number
  /** Of brands those with earlier rows of the relation. */
  based(brandIds: readonly string[]): Promise<ReadonlySet<string>>
}

/**
 * Writes new rows as lake files: one for each brand with many rows, one shared file, sorted by brand, for all others.
 */
export async function stageRows(
  duck: Duck,
  lakeDir: string,
  { relation, table, shown = (rows) => `from ${rows}`, tick, based }: Staged,
): Promise<NewFile[]> {
  const counts = await duck.rows<{ brand_id: string; rows: number }>(
    `select brand_id::varchar as brand_id, count(*) as rows from ${table} group by all order by all`,
  )
  const own = counts.filter(({ rows }) => rows >= OWN_FILE_ROWS)
  const shared = counts.filter(({ rows }) => rows < OWN_FILE_ROWS)
  const { kind, order } = RELATIONS[relation]
  const isMutable = kind === 'versions'
  const known = isMutable && own.length ? await based(own.map(({ brand_id }) => brand_id)) : null
  const files: NewFile[] = []
  const sorted = (where: string, by: readonly string[]) =>
    `select ${columnsOf(relation).join(', ')} from (${shown(`(from ${table} ${where} order by ${by.join(', ')})`)})`
  for (const { brand_id, rows } of own) {
    const select = sorted(`where brand_id = ${literal(brand_id)}::uuid`, order)
    // The first rows of a mutable relation hold each key once: they are a base already.
    const level = isMutable && !known?.has(brand_id) ? 1 : 0
    const occurred = await occurredRange(duck, relation, table, brand_id)
    const file = await writeParquet(duck, { lakeDir }, brandFolder(brand_id), relation, select)
    files.push({ ...file, ...occurred, brand_id, relation, level, rows, tick_lo: tick, tick_hi: tick })
  }
  if (shared.length) {
    const named = own.map(({ brand_id }) => `${literal(brand_id)}::uuid`)
    const rest = named.length ? `where brand_id not in (${named.join(', ')})` : ''
    const select = sorted(rest, ['brand_id', ...order])
    const rows = shared.reduce((sum, brand) => sum + brand.rows, 0)
    const file = await writeParquet(duck, { lakeDir }, STAGING_FOLDER, relation, select, sharedGroup(rows))
    const staging = { brand_id: null, relation, level: 0, rows, tick_lo: tick, tick_hi: tick, brands: shared }
    files.push({ ...file, ...staging, occurred_lo: null, occurred_hi: null })
  }
  return files
}

/** Throws Outrun when an erasure removed the file before it was finished. */
export async function writeParquet(
  duck: Pick<Duck, 'run'>,
  lake: Reached,
  folder: string,
  name: string,
  select: string,
  groupRows = GROUP_ROWS,
) {
  try {
    return await writeLakeFile(lake, folder, name, (path) =>
      duck.run(
        `copy (${select}) to ${literal(path)}
         (format parquet, parquet_version v2, compression zstd, compression_level 1, row_group_size ${groupRows})`,
      ),
    )
  } catch (error) {
    throw unfinished(error, `file of ${name}`)
  }
}

async function occurredRange(duck: Duck, relation: RelationName, table: string, brandId: string) {
  if (relation !== 'events') return { occurred_lo: null, occurred_hi: null }
  const [range] = await duck.rows<{ occurred_lo: Date; occurred_hi: Date }>(
    `select min(occurred_at) as occurred_lo, max(occurred_at) as occurred_hi from ${table} where brand_id = ${literal(brandId)}::uuid`,
  )
  return { occurred_lo: range?.occurred_lo ?? null, occurred_hi: range?.occurred_hi ?? null }
}
