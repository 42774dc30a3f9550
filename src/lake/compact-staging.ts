import type { Duck } from '../store/duckdb.ts'
import { STAGING_FOLDER } from '../store/lake.ts'
import { relationFailed } from './compact.ts'
import { fileRows } from './file-rows.ts'
import { isLate } from './horizon.ts'
import { levelAbove, mergeable } from './levels.ts'
import { addFiles, type LakeFile, type NewFile, Outrun, publishFiles, retireFiles } from './manifest.ts'
import { onEach } from './on-each.ts'
import { type Pipeline, withWorkspace } from './pipeline.ts'
import { columnsOf, RELATIONS, type RelationName } from './relations.ts'
import { isSeen, SEEN_DAYS } from './seen.ts'
import { sharedGroup, writeParquet } from './stage.ts'
import { withinMemory } from './within-memory.ts'

/** Merges the shared files: rows that brands have cut and event ids of long ago are left out. */
export async function compactStaging(pipeline: Pipeline): Promise<number> {
  await pipeline.postgres.pipeline.run('event_ids_outdate', [SEEN_DAYS + 2])
  const { day } = await pipeline.postgres.pipeline.one<{ day: string }>('event_log_awaited_day')
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
  const { postgres, lakeDir } = pipeline
  const all = fileRows(lakeDir, relation, inputs)
  let brands: { brand_id: string; rows: number }[] = []
  let order = 'id_hash'
  if (relation === 'event_ids') {
    await duck.run(`create table output as from ${all} where ${isSeen(day)}`)
  } else {
    const cuts = await postgres.pipeline.many<{ brand_id: string; tick: number }>('lake_cut_ticks', [
      relation,
    ])
    await duck.run('create table cuts (brand_id uuid, tick bigint)')
    for (const { brand_id, tick } of cuts)
      await duck.run('insert into cuts values ($1::uuid, $2::bigint)', [brand_id, tick])
    await duck.run(
      `create table output as select ${columnsOf(relation)
        .map((name) => `staged.${name}`)
        .join(', ')}
       from ${all} as staged left join cuts using (brand_id) where staged.tick > coalesce(cuts.tick, 0)`,
    )
    brands = await duck.rows(
      'select brand_id::varchar as brand_id, count(*) as rows from output group by all order by all',
    )
    order = `brand_id, ${RELATIONS[relation].order.join(', ')}`
  }
  const [count] = await duck.rows<{ rows: number }>('select count(*) as rows from output')
  const files: NewFile[] = []
  if (count?.rows) {
    const file = await writeParquet(
      duck,
      { lakeDir },
      STAGING_FOLDER,
      relation,
      `from output order by ${order}`,
      // Ids of events are in another order than that of brands.
      relation === 'event_ids' ? undefined : sharedGroup(count.rows),
    )
    const ticks = {
      tick_lo: inputs[0]?.tick_lo ?? 0,
      tick_hi: Math.max(...inputs.map(({ tick_hi }) => tick_hi)),
    }
    const level = levelAbove(inputs)
    files.push({
      ...file,
      ...ticks,
      brand_id: null,
      relation,
      level,
      rows: count.rows,
      brands,
      ...(relation !== 'event_ids' && {
        created_at: new Date(Math.min(...inputs.map(({ created_at }) => Number(created_at)))),
      }),
      occurred_lo: null,
      occurred_hi: null,
    })
  }
  await publishFiles(pipeline, files, async (tx) => {
    if (!(await tx.maybe('lake_unerased', [erasures]))) throw new Outrun(`merge of staged ${relation}`)
    await retireFiles(
      tx,
      inputs.map(({ id }) => id),
      `merge of staged ${relation}`,
    )
    await addFiles(tx, files)
  })
}
