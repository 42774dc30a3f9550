import { addFiles, type LakeFile, type NewFile, Outrun, publishFiles, retireFiles } from '../lake/manifest.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import { writeServed } from '../lake/served.ts'
import type { Session } from '../lake/session.ts'
import { OWN_FILE_ROWS, writeParquet } from '../lake/stage.ts'
import type { Model } from '../model/graph.ts'
import { literal } from '../store/duckdb.ts'
import { brandFolder } from '../store/lake.ts'
import type { Evaluation, SegmentRow } from './evaluate.ts'
import type { MemberChanges } from './members.ts'

export interface Publication {
  /** lake_brand.generation that the refresh started from. */
  from: number
  definitionsVersion: number
  recipe: string
  marts: readonly Model[]
  evaluation: Evaluation
  members: MemberChanges
  changedAt: Date
  startedAt: number
}

/**
 * Makes one new generation of a brand: results, members and the file that reads come from appear together, by a
 * compare-and-set on the generation. Throws Outrun when another refresh of the brand published first.
 */
export async function publish(
  pipeline: Pipeline,
  session: Session,
  publication: Publication,
): Promise<number> {
  const { from, evaluation, members, changedAt } = publication
  const { manifest } = session
  const generation = from + 1
  const files: NewFile[] = []
  const retired: LakeFile[] = []
  const old = (relation: string) => manifest.files.filter((file) => file.relation === relation)
  const rowsOf = async (table: string) =>
    (await session.duck.rows<{ rows: number }>(`select count(*) as rows from ${table}`))[0]?.rows ?? 0
  const add = async (relation: NewFile['relation'], level: number, rows: number, select: string) => {
    const file = await writeParquet(
      session.duck,
      pipeline.lakeDir,
      brandFolder(manifest.brandId),
      relation,
      select,
    )
    files.push({
      ...file,
      brand_id: manifest.brandId,
      relation,
      level,
      rows,
      ...ticksOf(generation),
    })
  }

  for (const { name } of publication.marts) {
    const rows = await rowsOf(name)
    if (rows >= OWN_FILE_ROWS) await add(`result:${name}`, 1, rows, `from ${name}`)
    retired.push(...old(`result:${name}`))
  }
  const row = `${literal(manifest.brandId)}::uuid as brand_id, ${generation}::bigint as tick`
  if (members.changes) {
    await session.duck.run(reasons(evaluation.evaluated))
    await session.duck.run(
      `create table member_changes as
       select
         ${row}, segment, customer, action,
         case when erased.subject is not null and reason = 'data_changed' then 'erased' else reason end as reason,
         $1::timestamp as changed_at
       from member_diff join member_reasons using (segment)
       left join customers_erased as erased on erased.subject = customer and action = 'exited'
       order by segment, customer`,
      [changedAt],
    )
    await add('member_changes', 0, members.changes, 'from member_changes')
  }
  if (members.fold) {
    await add(
      'members',
      1,
      await rowsOf('members'),
      `select ${row}, segment, customer, joined_at from members order by segment, customer`,
    )
    retired.push(...old('members'))
  }
  const served = await writeServed(pipeline.lakeDir, session, [
    ...publication.marts.map(({ name }) => ({ name, select: `from ${name}`, index: 'customer_id' })),
    {
      name: 'members',
      select: `select segment, customer_id, joined_at from members join customers using (customer) order by segment, customer_id`,
    },
  ])

  files.push({
    ...served,
    brand_id: manifest.brandId,
    relation: 'served',
    level: 1,
    rows: 0,
    ...ticksOf(generation),
  })
  retired.push(...old('served'))

  await publishFiles(pipeline, files, async (tx) => {
    const ms = Math.round(performance.now() - publication.startedAt)
    const args = [
      from,
      generation,
      served.path,
      manifest.tick,
      session.asOf,
      publication.definitionsVersion,
      ms,
      publication.recipe,
      manifest.erasures,
    ]
    if ((await tx.run('lake_brand_publish', [manifest.brandId, ...args])) === 0) throw new Outrun('refresh')
    await retireFiles(
      tx,
      retired.map(({ id }) => id),
      'refresh',
    )
    await addFiles(tx, files)
    await recordRun(tx, manifest.brandId, generation, publication)
  })
  return generation
}

/** The audiences after a run, with or without a new generation. */
export async function recordRun(
  tx: { run(name: string, args: unknown[]): Promise<number> },
  brandId: string,
  generation: number,
  { evaluation, members, changedAt }: Publication,
): Promise<void> {
  const { evaluated, failed } = evaluation
  const ids = evaluated.map(({ id }) => id)
  const versions = evaluated.map(({ version }) => version)
  const counts = evaluated.map(({ ordinal }) => members.counts.get(ordinal) ?? 0)
  await tx.run('segments_evaluated', [brandId, generation, changedAt, ids, versions, counts])
  await tx.run('segments_failed', [
    brandId,
    changedAt,
    failed.map(({ segment }) => segment.id),
    failed.map(({ error }) => error),
  ])
}

const ticksOf = (generation: number) => ({
  tick_lo: generation,
  tick_hi: generation,
  occurred_lo: null,
  occurred_hi: null,
})

function reasons(evaluated: readonly SegmentRow[]): string {
  const rows = evaluated.map(({ ordinal, version, evaluated_version }) => {
    const reason =
      evaluated_version === null
        ? 'segment_created'
        : evaluated_version === version
          ? 'data_changed'
          : 'definition_changed'
    return `(${Math.trunc(ordinal)}, '${reason}')`
  })
  return `create table member_reasons as from (values ${rows.join(', ')}) as reasons (segment, reason)`
}
