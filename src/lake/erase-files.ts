import type { Statements } from '../op.ts'
import { type Duck, literal } from '../store/duckdb.ts'
import { makeTable } from '../store/duckdb-table.ts'
import { brandFolder, STAGING_FOLDER } from '../store/lake.ts'
import { fileList } from './file-rows.ts'
import {
  addFiles,
  brandManifest,
  filesOf,
  type LakeFile,
  type NewFile,
  Outrun,
  publishFiles,
  retireFiles,
} from './manifest.ts'
import type { Pipeline } from './pipeline.ts'
import { RELATIONS, type RelationName } from './relations.ts'
import { sharedGroup, writeParquet } from './stage.ts'
import { withWorkspace } from './workspace.ts'

/**
 * What becomes of a customer's rows in the lake: rows of events go; of the others some columns are blanked, and what
 * is left names nobody. `null`: no row is about anybody.
 */
const ERASED_COLUMNS: Readonly<Record<RelationName, 'rows' | null | Readonly<Record<string, string>>>> = {
  events: 'rows',
  customers: {
    store_customer_id: 'null',
    email: 'null',
    phone: 'null',
    first_name: 'null',
    last_name: 'null',
    tags: '[]',
    deleted: 'true',
  },
  // Ordinals only.
  subject_redirect: null,
  visitors: 'rows',
  // What joined whom, by ordinals.
  merges: null,
  orders: { subject: 'null', number: 'null', discount_codes: '[]' },
  refunds: { subject: 'null' },
  products: null,
  checkouts: { subject: 'null', url: 'null' },
  subscriptions: { subject: 'null' },
  conversations: { subject: 'null' },
  messages: { subject: 'null' },
  // Ids and times of conversations, which name nobody any more.
  link_clicks: null,
  attributions: null,
}

/** Days of the event log whose lines are noted: as many as it may hold. */
const NOTED_DAYS = 60

export interface FileCounts {
  files: number
  rows: number
}

/** Called in the transaction that publishes the new files of a relation. */
type Note = (tx: Statements, relation: string, counts: FileCounts) => Promise<void>

/**
 * Writes every live file that holds rows of the subjects anew without them, the shared ones too, and notes the lines of
 * the event log that these rows came from. Throws Outrun when a compaction, snapshot or erasure came between:
 * what was published till then stays, and calling it again goes on. Old files are retired, not removed. False when
 * there was nothing to do: then no work that began before can bring anything back.
 */
export async function eraseFromFiles(
  pipeline: Pipeline,
  brandId: string,
  subjects: readonly number[],
  note: Note = async () => {},
): Promise<boolean> {
  if (subjects.length === 0) return false
  return await withWorkspace(pipeline, async (duck) => {
    let found = false
    await makeTable(
      duck,
      'erased_subjects',
      { subject: 'INTEGER' },
      subjects.map((subject) => [subject]),
    )
    for (const relation of Object.keys(RELATIONS) as RelationName[]) {
      if (ERASED_COLUMNS[relation] === null) continue
      const { removals } = await pipeline.postgres.pipeline.one<{ removals: number }>('lake_removals')
      const manifest = await brandManifest(pipeline.postgres, brandId)
      const files = filesOf(manifest, relation)
      const shared = await sharedFiles(pipeline, brandId, relation)
      const all = [...new Map([...files, ...shared].map((file) => [file.path, file])).values()]
      const work = { pipeline, duck, brandId, relation, removals }
      if (all.length && (await eraseFrom(work, all, note))) found = true
    }
    return found
  })
}

/** Also those whose rows were cut into files of the brand: they are never read for it again, and still hold them. */
const sharedFiles = ({ postgres }: Pipeline, brandId: string, relation: RelationName) =>
  postgres.pipeline.many<LakeFile>('lake_shared_files_of', [brandId, relation])

interface Work {
  pipeline: Pipeline
  duck: Duck
  brandId: string
  relation: RelationName
  /** Before the first file was written: a later one may have removed it. */
  removals: number
}

/** Rows that still say something: of this brand and of these subjects. */
function isTheirs({ brandId, relation }: Work): string {
  const blanks = ERASED_COLUMNS[relation]
  const theirs = `brand_id = ${literal(brandId)}::uuid and subject in (from erased_subjects)`
  if (blanks === 'rows' || blanks === null || 'subject' in blanks) return theirs
  const differs = Object.entries(blanks).map(([name, blank]) => `${name} is distinct from ${blank}`)
  return `(${theirs} and (${differs.join(' or ')}))`
}

async function eraseFrom(work: Work, files: readonly LakeFile[], note: Note): Promise<boolean> {
  const { pipeline, duck, relation } = work
  const { lakeDir } = pipeline
  const theirs = isTheirs(work)
  const holding = await duck.rows<{ filename: string; rows: number }>(
    `select filename, count(*) as rows from read_parquet(${fileList(lakeDir, files)}, filename = true, union_by_name = true)
     where ${theirs} group by filename`,
  )
  if (holding.length === 0) return false
  const inputs = files.filter(({ path }) => holding.some(({ filename }) => filename.endsWith(path)))
  const lines = relation === 'events' ? await linesOf(work, inputs, theirs) : []
  const written: NewFile[] = []
  for (const input of inputs) {
    const file = await rewrite(work, input, theirs)
    if (file) written.push(file)
  }
  const rows = holding.reduce((sum, file) => sum + file.rows, 0)
  await publishFiles(pipeline, written, async (tx) => {
    await countErasure(tx, work, inputs)
    await retireFiles(
      tx,
      inputs.map(({ id }) => id),
      `erasure from ${relation}`,
    )
    await addFiles(tx, written)
    if (lines.length)
      await tx.run('erased_lines_add', [lines.map(({ batch_id }) => batch_id), lines.map(({ line }) => line)])
    await note(tx, relation, { files: inputs.length, rows })
  })
  return true
}

/** In the order in which the snapshot takes these locks. */
async function countErasure(tx: Statements, work: Work, inputs: readonly LakeFile[]): Promise<void> {
  const { brandId, relation, removals } = work
  const isShared = inputs.some((file) => file.brand_id === null)
  const isThere = isShared
    ? await tx.run('lake_erasures_count_unremoved', [removals])
    : await tx.maybe('lake_unremoved', [removals])
  if (!isThere) throw new Outrun(`erasure from ${relation}`)
  await tx.run('lake_brand_erasures_count', [brandId])
}

async function linesOf(
  { duck, pipeline }: Work,
  inputs: readonly LakeFile[],
  theirs: string,
): Promise<{ batch_id: string; line: number }[]> {
  return await duck.rows(
    `select distinct batch_id::varchar as batch_id, line from read_parquet(${fileList(pipeline.lakeDir, inputs)})
     where ${theirs} and received_at > now()::timestamp - interval ${NOTED_DAYS} days`,
  )
}

/** A file's rows in their order, without what is erased; null when nothing is left. */
async function rewrite({ pipeline, duck, relation }: Work, input: LakeFile, theirs: string) {
  const blanks = ERASED_COLUMNS[relation]
  const source = `read_parquet(${fileList(pipeline.lakeDir, [input])})`
  const select =
    blanks === 'rows' || blanks === null
      ? `select * from ${source} where not coalesce(${theirs}, false)`
      : `select * replace (${Object.entries(blanks)
          .map(([name, blank]) => `case when ${theirs} then ${blank} else ${name} end as ${name}`)
          .join(', ')}) from ${source}`
  await duck.run(`create or replace temp view kept_rows as ${select}`)
  const occurred = relation === 'events' ? 'occurred_at' : 'null::timestamp'
  const [range] = await duck.rows<{ rows: number; occurred_lo: Date | null; occurred_hi: Date | null }>(
    `select count(*) as rows, min(${occurred}) as occurred_lo, max(${occurred}) as occurred_hi from kept_rows`,
  )
  if (!range?.rows) return null
  const isShared = input.brand_id === null
  const brands = isShared
    ? await duck.rows<{ brand_id: string; rows: number }>(
        'select brand_id::varchar as brand_id, count(*) as rows from kept_rows group by all order by all',
      )
    : undefined
  const folder = isShared ? STAGING_FOLDER : brandFolder(input.brand_id as string)
  const group = isShared ? sharedGroup(range.rows) : undefined
  const file = await writeParquet(duck, pipeline, folder, relation, 'from kept_rows', group)
  const { brand_id, level, schema_version, tick_lo, tick_hi, created_at } = input
  const { rows, ...occurredRange } = range
  const shown = isShared ? { occurred_lo: null, occurred_hi: null, created_at } : occurredRange
  return { ...file, ...shown, brand_id, relation, level, schema_version, tick_lo, tick_hi, rows, brands }
}
