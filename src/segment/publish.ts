import { join } from 'node:path'
import { addFiles, type LakeFile, type NewFile, Outrun, publishFiles, retireFiles } from '../lake/manifest.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import type { Session } from '../lake/session.ts'
import { OWN_FILE_ROWS, writeParquet } from '../lake/stage.ts'
import type { Model } from '../model/graph.ts'
import { type Duck, literal } from '../store/duckdb.ts'
import { brandFolder, type WrittenFile } from '../store/lake.ts'
import type { Evaluation } from './evaluate.ts'
import { isHeld } from './held.ts'
import type { MemberChanges } from './members.ts'
import { writeReasons } from './reasons.ts'
import { writeBase, writeTouched } from './served-tables.ts'
import type { BrandRow } from './way.ts'

export interface Publication {
  /** As the refresh found it. */
  brand: BrandRow
  recipe: string
  models: readonly Model[]
  evaluation: Evaluation
  members: MemberChanges
  /** All customers were computed, not only those in `touched`. */
  whole: boolean
  /** When time alone changes an answer next; null when that is not known. */
  nextChangeAt: string | null
  startedAt: number
}

/**
 * Makes one new generation of a brand: results, members and the files that reads come from appear together, by a
 * compare-and-set on the generation. Throws Outrun when another refresh of the brand published first.
 */
export async function publish(
  pipeline: Pipeline,
  session: Session,
  publication: Publication,
): Promise<number> {
  const { brand, evaluation, members, whole } = publication
  const { duck, manifest, asOf } = session
  const generation = brand.generation + 1
  const files: NewFile[] = []
  const retired: LakeFile[] = []
  const note = (file: WrittenFile, relation: NewFile['relation'], level: number, rows: number) =>
    files.push({ ...file, brand_id: brand.id, relation, level, rows, ...ticksOf(generation) })
  const add = async (relation: NewFile['relation'], level: number, rows: number, select: string) =>
    note(
      await writeParquet(duck, pipeline.lakeDir, brandFolder(brand.id), relation, select),
      relation,
      level,
      rows,
    )
  const old = (relation: string) => manifest.files.filter((file) => file.relation === relation)

  const marts = publication.models.filter(({ layer }) => layer === 'mart')
  const base = whole
    ? await writeBase(pipeline, session, marts)
    : old('served').find(({ level }) => level > 0)
  if (!base) throw new Error('there is no base that the changes could be to')
  if (whole) {
    await duck.run(`attach ${literal(join(pipeline.lakeDir, base.path))} as made (read_only)`)
    for (const { name } of marts) {
      const rows = await rowsOf(duck, `made.${name}`)
      const from = isHeld(name) ? name : `made.${name}`
      if (rows >= OWN_FILE_ROWS) await add(`result:${name}`, 1, rows, `from ${from}`)
      retired.push(...old(`result:${name}`))
    }
    await duck.run('detach made')
  }
  const row = `${literal(brand.id)}::uuid as brand_id, ${generation}::bigint as tick`
  if (members.changes) {
    await writeReasons(duck, evaluation.evaluated, brand.refreshed_tick)
    await duck.run(
      `create table member_changes as
       select ${row}, segment, customer, action, reason, $1::timestamp as changed_at
       from member_reasons order by segment, customer`,
      [asOf],
    )
    await add('member_changes', 0, members.changes, 'from member_changes')
  }
  if (members.fold) {
    const select = `select ${row}, segment, customer, joined_at from members order by segment, customer`
    await add('members', 1, await rowsOf(duck, 'members'), select)
    retired.push(...old('members'))
  }

  const served = old('served')
  const changes = whole ? null : await writeTouched(pipeline, session, brand, publication.models)
  if (whole) note(base as WrittenFile, 'served', 1, 0)
  if (changes) note(changes, 'served', 0, 0)
  retired.push(...(whole ? served : served.filter(({ level }) => level === 0)))

  await publishFiles(pipeline, files, async (tx) => {
    const args = [
      brand.generation,
      generation,
      manifest.tick,
      asOf,
      brand.definitions_version,
      Math.round(performance.now() - publication.startedAt),
      publication.recipe,
      manifest.erasures,
      whole,
      whole ? 0 : await rowsOf(duck, 'replaced'),
      publication.nextChangeAt,
    ]
    if ((await tx.run('lake_brand_publish', [brand.id, ...args])) === 0) throw new Outrun('refresh')
    await retireFiles(
      tx,
      retired.map(({ id }) => id),
      'refresh',
    )
    await addFiles(tx, files)
    await tx.run('served_generation_replaced', [brand.id, generation])
    await tx.run('served_generation_add', [brand.id, generation, base.path, changes?.path ?? null])
    await recordRun(tx, brand.id, generation, publication, session)
  })
  return generation
}

/** Nothing changed: the generation stays, and only the time of its results moves. */
export async function noteUnchanged(
  pipeline: Pipeline,
  session: Session,
  publication: Publication,
): Promise<number> {
  const { brand } = publication
  const { manifest, asOf } = session
  await pipeline.postgres.pipeline.tx(async (tx) => {
    const ms = Math.round(performance.now() - publication.startedAt)
    const args = [
      brand.generation,
      manifest.tick,
      asOf,
      brand.definitions_version,
      ms,
      manifest.erasures,
      publication.nextChangeAt,
    ]
    if ((await tx.run('lake_brand_refreshed', [brand.id, ...args])) === 0) throw new Outrun('refresh')
    await recordRun(tx, brand.id, brand.generation, publication, session)
  })
  return brand.generation
}

const rowsOf = async (duck: Duck, table: string) =>
  (await duck.rows<{ rows: number }>(`select count(*) as rows from ${table}`))[0]?.rows ?? 0

/** The audiences after a run, with or without a new generation. */
export async function recordRun(
  tx: { run(name: string, args: unknown[]): Promise<number> },
  brandId: string,
  generation: number,
  { evaluation, members }: Publication,
  { asOf: changedAt, manifest: { tick } }: Session,
): Promise<void> {
  const { evaluated, failed } = evaluation
  const ids = evaluated.map(({ id }) => id)
  const versions = evaluated.map(({ version }) => version)
  const counts = evaluated.map(({ ordinal }) => members.counts.get(ordinal) ?? 0)
  await tx.run('segments_evaluated', [brandId, generation, changedAt, ids, versions, counts, tick])
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
