import { type Generation, pathsOf } from '../lake/generation.ts'
import { addFiles, type NewFile, Outrun, publishFiles, retireFiles } from '../lake/manifest.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import type { Serving } from '../lake/serving.ts'
import type { Session } from '../lake/session.ts'
import { writeParquet } from '../lake/stage.ts'
import type { Model } from '../model/graph.ts'
import type { Statements } from '../op.ts'
import { instant, literal } from '../store/duckdb.ts'
import { brandFolder } from '../store/lake.ts'
import { reasonsOfLeft } from './archived.ts'
import type { BrandRow } from './brand-row.ts'
import type { Evaluation } from './evaluate.ts'
import type { Kept } from './kept.ts'
import type { MemberChanges } from './member-diff.ts'
import type { Parts } from './part.ts'
import { reasonsSql } from './reasons.ts'
import type { Staying } from './staying.ts'
import { together } from './together.ts'
import { rowsIn } from './way.ts'
import { finishWhole, type Note, type Written, writeTouched } from './written.ts'

export interface Publication {
  /** As the refresh found it. */
  brand: BrandRow
  parts: Parts
  recipe: string
  models: readonly Model[]
  evaluation: Evaluation
  members: MemberChanges
  archived: readonly Kept[]
  /** Members who are shown of segments that were not evaluated, where these can be others than before. */
  kept: ReadonlyMap<number, number>
  /** All customers were computed, not only those in `touched`: into this file. */
  serving: Serving | null
  /** Marts that the file does not have: they are as they were published. */
  staying: Staying | null
  /** Members of everyone were computed, the customers' rows only of those in `touched`. */
  carries: boolean
  /** As WayOptions has it. */
  mostMoved: number | undefined
  /** Marts that are not made by customer can differ from the published ones. */
  salesMoved: boolean
  /** What the brand shows so far; null when all of it is made anew. */
  published: Generation | null
  /** When time alone changes an answer next; null when that is not known. */
  nextChangeAt: string | null
  startedAt: number
}

/**
 * Makes one new generation of a brand: results, members and the files that reads come from appear together, by a
 * compare-and-set on the generation. What is not made is carried on. Throws Outrun when another refresh of the brand
 * published first.
 */
export async function publish(
  pipeline: Pipeline,
  session: Session,
  publication: Publication,
): Promise<number> {
  const { brand, parts, members } = publication
  const { manifest } = session
  const generation = brand.generation + 1
  const files: NewFile[] = []
  const note: Note = (file, relation, level, rows) => {
    const noted = { brand_id: brand.id, relation, level, rows, ...ticksOf(generation) }
    for (const { path, bytes, sha256 } of [file, ...(file.beside ? [file.beside] : [])])
      files.push({ path, bytes, sha256, ...noted })
  }
  const { shown, ...changed } = await together(
    publication.serving
      ? finishWhole(publication.serving, session, publication, note)
      : writeTouched(session, publication, note),
    parts.has('segments') ? writeMembers(session, publication, note) : null,
  )

  const kept = pathsOf(shown)
  const retired = manifest.files.filter(
    ({ relation, path }) =>
      (relation === 'served' && !kept.has(path)) || (relation === 'members' && members.fold),
  )
  await publishFiles(pipeline, files, async (tx) => {
    if ((await moveOn(tx, publication, session, changed)) === 0) throw new Outrun('refresh')
    await retireFiles(
      tx,
      retired.map(({ id }) => id),
      'refresh',
    )
    await addFiles(tx, files)
    await tx.run('served_generation_add', [
      brand.id,
      generation,
      shown.base_path,
      shown.changes_path,
      shown.models_base_path,
      shown.models_changes_path,
      shown.models_sums_path,
      shown.members_path,
    ])
    if (parts.has('segments')) await recordRun(tx, brand.id, generation, publication, session)
  })
  return generation
}

/** The brand's row goes on to the new generation, unless another refresh was first. */
async function moveOn(
  tx: Statements,
  { brand, parts, recipe, serving, nextChangeAt, startedAt }: Publication,
  { manifest: { tick, erasures }, asOf }: Session,
  { changed, modelsChanged }: Omit<Written, 'shown'>,
): Promise<number> {
  const to = [brand.id, brand.generation, brand.generation + 1, tick, asOf]
  if (!parts.has('segments')) return await tx.run('lake_models_publish', [...to, erasures, modelsChanged])
  return await tx.run('lake_brand_publish', [
    ...to,
    brand.definitions_version,
    Math.round(performance.now() - startedAt),
    recipe,
    erasures,
    serving !== null && parts.has('models'),
    changed,
    nextChangeAt,
    parts.has('models'),
    modelsChanged,
  ])
}

/**
 * Who came and left, and, when they are many since the last time, the members themselves: beside what is published, which
 * one thread writes for the most part.
 */
async function writeMembers(
  { beside: duck, asOf, lake, manifest }: Session,
  { brand, recipe, evaluation, members, archived }: Publication,
  note: Note,
): Promise<void> {
  const row = `${literal(brand.id)}::uuid as brand_id, ${brand.generation + 1}::bigint as tick`
  const write = (relation: 'members' | 'member_changes', select: string) =>
    writeParquet(duck, lake, brandFolder(brand.id), relation, select)
  if (members.changes) {
    const since = { refreshedTick: brand.refreshed_tick, isAnew: brand.recipe !== recipe, manifest }
    const reasons = [
      ...(evaluation.evaluated.length ? [reasonsSql(evaluation.evaluated, since)] : []),
      ...(archived.length ? [reasonsOfLeft(archived)] : []),
    ].join(' union all ')
    const select = `
      select ${row}, segment, customer, action, reason, ${instant(asOf)} as changed_at
      from (${reasons}) order by segment, customer`
    note(await write('member_changes', select), 'member_changes', 0, members.changes)
  }
  if (members.fold) {
    const select = `select ${row}, segment, customer, joined_at from members order by segment, customer`
    note(await write('members', select), 'members', 1, await rowsIn(duck, 'members'))
  }
}

/** Nothing changed: the generation stays, and only the time of its results moves. */
export async function noteUnchanged(
  pipeline: Pipeline,
  session: Session,
  publication: Publication,
): Promise<number> {
  const { brand, parts } = publication
  const { manifest, asOf } = session
  await pipeline.postgres.pipeline.tx(async (tx) => {
    if (parts.has('models')) {
      const made = [brand.id, brand.generation, manifest.tick, asOf, manifest.erasures]
      if ((await tx.run('lake_models_refreshed', made)) === 0) throw new Outrun('refresh')
    }
    if (!parts.has('segments')) return
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

/** The audiences after a run, with or without a new generation. Throws Outrun when one was archived meanwhile. */
async function recordRun(
  tx: { run(name: string, args: unknown[]): Promise<number> },
  brandId: string,
  generation: number,
  { evaluation, members, kept }: Publication,
  { asOf: changedAt, manifest: { tick } }: Session,
): Promise<void> {
  const { evaluated, failed } = evaluation
  const ids = evaluated.map(({ id }) => id)
  const versions = evaluated.map(({ version }) => version)
  const counts = evaluated.map(({ ordinal }) => members.counts.get(ordinal) ?? 0)
  // One that was archived meanwhile has no members from here on.
  const run = [brandId, generation, changedAt, ids, versions, counts, tick]
  if (ids.length && (await tx.run('segments_evaluated', run)) < ids.length) throw new Outrun('refresh')
  if (kept.size) await tx.run('segments_kept', [brandId, [...kept.keys()], [...kept.values()]])
  if (failed.length === 0) return
  await tx.run('segments_failed', [
    brandId,
    changedAt,
    failed.map(({ segment }) => segment.id),
    failed.map(({ error }) => error),
    failed.map(({ segment }) => segment.version),
  ])
}

const ticksOf = (generation: number) => ({
  tick_lo: generation,
  tick_hi: generation,
  occurred_lo: null,
  occurred_hi: null,
})
