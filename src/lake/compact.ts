import { type Duck, literal } from '../store/duckdb.ts'
import { brandFolder } from '../store/lake.ts'
import { fileRows } from './file-rows.ts'
import { isLate } from './horizon.ts'
import { levelAbove, mergeable } from './levels.ts'
import {
  addFiles,
  brandManifest,
  type FileRelation,
  type LakeFile,
  type Manifest,
  type NewFile,
  Outrun,
  publishFiles,
  refuseErased,
  retireFiles,
} from './manifest.ts'
import { onEach } from './on-each.ts'
import type { Pipeline } from './pipeline.ts'
import type { Relation } from './relation.ts'
import { columnsOf, RELATIONS, type RelationName } from './relations.ts'
import { columnTypes } from './sources.ts'
import { OWN_FILE_ROWS, writeParquet } from './stage.ts'
import { withinMemory } from './within-memory.ts'
import { withWorkspace } from './workspace.ts'

/** Staged rows leave for the brand's own file at this age at the latest. */
export const STAGED_HOURS = 4
/** A mutable relation is folded into a new base when its changes are this share of it, or this many files. */
const FOLD_SHARE = 0.25
const FOLD_FILES = 8
/** Changes that refreshes have still to see are folded only when they are so many. */
const MOST_DELTAS = 32
const MOST_DELTA_ROWS = 1_000_000

/** Schema versions of the relations that are folded: a base of an earlier one is written anew. */
export const FOLDED_SCHEMAS: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(RELATIONS).flatMap(([name, { kind, schemaVersion }]) =>
    kind === 'versions' ? [[name, schemaVersion]] : [],
  ),
)

export const relationFailed = (relation: string) => ({ event: 'compact_relation_failed', relation })

type Mergeable = RelationName | 'member_changes'

/** Cuts a brand's staged rows into files of its own, then merges its files; the number of files written. */
export async function compactBrand(pipeline: Pipeline, brandId: string, cutAll = false): Promise<number> {
  let manifest = await brandManifest(pipeline.postgres, brandId)
  let late = await isLate(pipeline)
  const relations: Mergeable[] = [...(Object.keys(RELATIONS) as RelationName[]), 'member_changes']
  if (!relations.some((relation) => dueCut(manifest, relation, cutAll) || dueMerge(manifest, relation, late)))
    return 0
  const mergeAll = async (duck: Duck) => {
    let written = 0
    await onEach(relations, relationFailed, async (relation) => {
      for (let most = Number.POSITIVE_INFINITY; ; ) {
        const staged = dueCut(manifest, relation, cutAll)
        if (!staged) break
        const oldest = staged.slice(0, most)
        most = await withinMemory(oldest, (some) => cut({ pipeline, duck, manifest, relation }, some))
        manifest = await brandManifest(pipeline.postgres, brandId)
        written++
      }
      for (;;) {
        const inputs = dueMerge(manifest, relation, late)
        if (!inputs) break
        const work = (some: readonly LakeFile[]) => merge({ pipeline, duck, manifest, relation }, some)
        // A fold is of a base and all its changes.
        await (isAppended(relation) ? withinMemory(inputs, work) : work(inputs))
        manifest = await brandManifest(pipeline.postgres, brandId)
        late = await isLate(pipeline)
        written++
      }
    })
    return written
  }
  return await withWorkspace(pipeline, mergeAll, { threads: 1 })
}

interface Work {
  pipeline: Pipeline
  duck: Duck
  manifest: Manifest
  relation: Mergeable
}

const isAppended = (relation: Mergeable) =>
  relation === 'member_changes' || RELATIONS[relation].kind === 'append'
const isOld = ({ created_at }: LakeFile) => Date.now() - created_at.getTime() > STAGED_HOURS * 3_600_000
const ownFiles = (manifest: Manifest, relation: FileRelation) =>
  manifest.files.filter((file) => file.relation === relation)
const rowsOf = (files: readonly LakeFile[]) => files.reduce((rows, file) => rows + file.rows, 0)

/** The staged files to cut a relation from, when it is time. */
function dueCut(manifest: Manifest, relation: Mergeable, cutAll: boolean): LakeFile[] | null {
  const staged = manifest.staged.filter((file) => file.relation === relation)
  const foldsNow = !isAppended(relation) && foldable(manifest, relation) !== null
  const due = cutAll || foldsNow || rowsOf(staged) >= OWN_FILE_ROWS || staged.some(isOld)
  return staged.length && due ? staged : null
}

/** The files to merge into one, when it is time. */
function dueMerge(manifest: Manifest, relation: Mergeable, late: boolean): LakeFile[] | null {
  const own = ownFiles(manifest, relation)
  if (isAppended(relation)) return mergeable(own, late)
  const inputs = foldable(manifest, relation)
  if (!inputs) return null
  // A version that is left beside the base must not be older than the base: it would hide what the base holds.
  const newest = Math.max(...inputs.map(({ tick_hi }) => tick_hi))
  const staged = manifest.staged.filter((file) => file.relation === relation)
  const left = [...staged, ...own.filter((file) => !inputs.includes(file))]
  return left.some(({ tick_lo }) => tick_lo <= newest) ? null : inputs
}

/** Cuts a relation up to the newest tick of these files, which are its oldest. */
async function cut({ pipeline, duck, manifest, relation }: Work, oldest: readonly LakeFile[]): Promise<void> {
  if (relation === 'member_changes') return
  const { brandId } = manifest
  const upTo = Math.max(...oldest.map(({ tick_hi }) => tick_hi))
  const staged = manifest.staged.filter((file) => file.relation === relation && file.tick_lo <= upTo)
  const before = Number(manifest.cutTicks[relation] ?? 0)
  await duck.run(`create or replace table cut (${columnTypes(relation)})`)
  await duck.run(
    `insert into cut select ${columnsOf(relation).join(', ')} from ${fileRows(pipeline.lakeDir, relation, staged)}
     where brand_id = ${literal(brandId)}::uuid and tick > ${before} and tick <= ${upTo}`,
  )
  // All versions: earlier ones are still asked for, and only files of the brand's own are kept for that.
  const file = await writeOwn(pipeline, duck, brandId, relation, 0, 'from cut')
  const files = file ? [file] : []
  await publishFiles(pipeline, files, async (tx) => {
    const moved = await tx.run('lake_brand_cut', [brandId, relation, before, upTo, manifest.erasures])
    if (moved === 0) throw new Outrun(`cut of ${relation}`)
    await addFiles(tx, files)
  })
}

async function merge(
  { pipeline, duck, manifest, relation }: Work,
  inputs: readonly LakeFile[],
): Promise<void> {
  const appended = isAppended(relation)
  const rows = `from ${fileRows(pipeline.lakeDir, relation, inputs)}`
  const level = appended ? levelAbove(inputs) : 1
  const file = await writeOwn(
    pipeline,
    duck,
    manifest.brandId,
    relation,
    level,
    appended ? rows : await newestOf(duck, relation, rows),
  )
  const files = file ? [file] : []
  await publishFiles(pipeline, files, async (tx) => {
    await refuseErased(tx, manifest, `merge of ${relation}`)
    await retireFiles(
      tx,
      inputs.map(({ id }) => id),
      `merge of ${relation}`,
    )
    await addFiles(tx, files)
  })
}

/** The newest version of each key. Removed ones stay, so that they go on hiding versions that are still staged. */
async function newestOf(duck: Duck, relation: Mergeable, rows: string): Promise<string> {
  if (relation === 'member_changes') return rows
  const { key } = RELATIONS[relation] as Relation
  await duck.run(
    `create or replace table newest as ${rows}
     qualify row_number() over (partition by ${key.join(', ')} order by tick desc) = 1`,
  )
  return 'from newest'
}

/** Each read of it derives what it lacks. */
const isOutdated = ({ relation, schema_version }: LakeFile) =>
  schema_version < (FOLDED_SCHEMAS[relation] ?? 0)

/** Folding forgets earlier versions, by which a refresh knows whom a row was about until then: it has to see them first. */
function foldable(manifest: Manifest, relation: Mergeable): LakeFile[] | null {
  const files = ownFiles(manifest, relation)
  const base = files.filter((file) => file.level > 0)
  const all = files.filter((file) => file.level === 0)
  const tooMany = all.length >= MOST_DELTAS || rowsOf(all) >= MOST_DELTA_ROWS
  const deltas = tooMany ? all : all.filter(({ tick_hi }) => tick_hi <= manifest.seenTick)
  const due =
    base.some(isOutdated) ||
    deltas.length >= FOLD_FILES ||
    (deltas.length > 0 && rowsOf(deltas) > FOLD_SHARE * rowsOf(base))
  return due ? [...base, ...deltas] : null
}

interface OutputRange {
  rows: number
  lo: number
  hi: number
  occurred_lo: Date | null
  occurred_hi: Date | null
  foreign_rows: number
}

/** `rows` are read twice: to copy 6M events of files first took a quarter of the time, and memory that their order needs. */
async function writeOwn(
  { lakeDir }: Pipeline,
  duck: Duck,
  brandId: string,
  relation: Mergeable,
  level: number,
  rows: string,
): Promise<NewFile | null> {
  const occurred = relation === 'events' ? 'occurred_at' : 'null::timestamp'
  const [range] = await duck.rows<OutputRange>(
    `select count(*) as rows, min(tick) as lo, max(tick) as hi, min(${occurred}) as occurred_lo, max(${occurred}) as occurred_hi,
       count(*) filter (brand_id <> ${literal(brandId)}::uuid) as foreign_rows from (${rows})`,
  )
  if (!range?.rows) return null
  if (range.foreign_rows)
    throw new Error(`${range.foreign_rows} rows of another brand in the ${relation} of ${brandId}`)
  const order =
    relation === 'member_changes' ? 'segment, customer, tick' : RELATIONS[relation].order.join(', ')
  const file = await writeParquet(
    duck,
    { lakeDir },
    brandFolder(brandId),
    relation,
    `from (${rows}) order by ${order}`,
  )
  const { rows: count, lo, hi, occurred_lo, occurred_hi } = range
  return {
    ...file,
    brand_id: brandId,
    relation,
    level,
    rows: count,
    tick_lo: lo,
    tick_hi: hi,
    occurred_lo,
    occurred_hi,
  }
}
