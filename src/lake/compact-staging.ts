import type { Duck } from '../store/duckdb.ts'
import { makeTable } from '../store/duckdb-table.ts'
import { STAGING_FOLDER } from '../store/lake.ts'
import { relationFailed } from './compact.ts'
import { withEventLog } from './event-log.ts'
import { fileRows } from './file-rows.ts'
import { isLate } from './horizon.ts'
import { levelAbove, mergeable } from './levels.ts'
import { addFiles, type LakeFile, type NewFile, Outrun, publishFiles, retireFiles } from './manifest.ts'
import { onEach } from './on-each.ts'
import type { Pipeline } from './pipeline.ts'
import { columnsOf, RELATIONS, type RelationName } from './relations.ts'
import { isSeen, SEEN_DAYS } from './seen.ts'
import { sharedGroup, writeParquet } from './stage.ts'
import { withinMemory } from './within-memory.ts'
import { withWorkspace } from './workspace.ts'

/** Merges the shared files: rows that brands have cut and event ids of long ago are left out. */
export async function compactStaging(pipeline: Pipeline): Promise<number> {
  const { day } = await withEventLog(pipeline, async (tx) => {
    await tx.run('event_ids_outdate', [SEEN_DAYS + 2])
    return await tx.one<{ day: string }>('event_log_awaited_day')
  })
  let written = 0
  const late = await isLate(pipeline)
  const relations = [...(Object.keys(RELATIONS) as RelationName[]), 'event_ids' as const]
  await onEach(relations, relationFailed, async (relation) => {
    const { erasures } = await pipeline.postgres.pipeline.one<{ erasures: number }>('lake_erasures')
    const files = await pipeline.postgres.pipeline.many<LakeFile>('lake_shared_files', [relation])
    const due = mergeable(files, late)
    if (!due) return
    const merge = (inputs: readonly LakeFile[]) =>
      withWorkspace(pipeline, (duck) => mergeShared(pipeline, duck, { relation, inputs, erasures, day }), {
        threads: 1,
      })
    await withinMemory(due, merge)
    written++
  })
  return written
}

interface Merge {
  relation: RelationName | 'event_ids'
  inputs: readonly LakeFile[]
  /** As counted before the inputs were listed. */
  erasures: number
  /** Of the oldest events that are to come. */
  day: string
}

async function mergeShared(
  pipeline: Pipeline,
  duck: Duck,
  { relation, inputs, erasures, day }: Merge,
): Promise<void> {
  const what = `merge of staged ${relation}`
  const file =
    relation === 'event_ids'
      ? await mergedIds(pipeline, duck, inputs, day)
      : await mergedRows(pipeline, duck, relation, inputs)
  const files = file ? [file] : []
  await publishFiles(pipeline, files, async (tx) => {
    if (!(await tx.maybe('lake_unerased', [erasures]))) throw new Outrun(what)
    await retireFiles(
      tx,
      inputs.map(({ id }) => id),
      what,
    )
    await addFiles(tx, files)
  })
}

/** Ids that new ones are still compared with. */
async function mergedIds(
  { lakeDir }: Pipeline,
  duck: Duck,
  inputs: readonly LakeFile[],
  day: string,
): Promise<NewFile | null> {
  await duck.run(`create table output as from ${fileRows(lakeDir, 'event_ids', inputs)} where ${isSeen(day)}`)
  return await writeOutput(lakeDir, duck, inputs, { relation: 'event_ids', order: 'id_hash' })
}

/** Rows that their brands have not cut. They wait to be cut for as long as before. */
async function mergedRows(
  { postgres, lakeDir }: Pipeline,
  duck: Duck,
  relation: RelationName,
  inputs: readonly LakeFile[],
): Promise<NewFile | null> {
  const cuts = await postgres.pipeline.many<{ brand_id: string; tick: number }>('lake_cut_ticks', [relation])
  await makeTable(
    duck,
    'cuts',
    { brand_id: 'UUID', tick: 'BIGINT' },
    cuts.map(({ brand_id, tick }) => [brand_id, tick]),
  )
  const columns = columnsOf(relation).map((name) => `staged.${name}`)
  await duck.run(
    `create table output as select ${columns.join(', ')}
     from ${fileRows(lakeDir, relation, inputs)} as staged
     left join cuts using (brand_id) where staged.tick > coalesce(cuts.tick, 0)`,
  )
  const brands = await duck.rows<{ brand_id: string; rows: number }>(
    'select brand_id::varchar as brand_id, count(*) as rows from output group by all order by all',
  )
  const order = `brand_id, ${RELATIONS[relation].order.join(', ')}`
  const created_at = new Date(Math.min(...inputs.map((input) => Number(input.created_at))))
  return await writeOutput(lakeDir, duck, inputs, { relation, order, brands, created_at })
}

interface Output extends Pick<NewFile, 'relation' | 'brands' | 'created_at'> {
  order: string
}

/** The table `output` as a shared file; null when nothing is left. */
async function writeOutput(
  lakeDir: string,
  duck: Duck,
  inputs: readonly LakeFile[],
  { order, ...noted }: Output,
): Promise<NewFile | null> {
  const [count] = await duck.rows<{ rows: number }>('select count(*) as rows from output')
  if (!count?.rows) return null
  const file = await writeParquet(
    duck,
    { lakeDir },
    STAGING_FOLDER,
    noted.relation,
    `from output order by ${order}`,
    noted.brands && sharedGroup(count.rows),
  )
  return {
    ...file,
    ...noted,
    brand_id: null,
    level: levelAbove(inputs),
    rows: count.rows,
    tick_lo: Math.min(...inputs.map(({ tick_lo }) => tick_lo)),
    tick_hi: Math.max(...inputs.map(({ tick_hi }) => tick_hi)),
    occurred_lo: null,
    occurred_hi: null,
  }
}
