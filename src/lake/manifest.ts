import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../errors.ts'
import type { Statements } from '../op.ts'
import type { Postgres } from '../store/postgres.ts'
import { requireOwnLake } from './owner.ts'
import { RELATIONS, type RelationName } from './relations.ts'

/** Relations with lake files: those of events and the store, the ids seen lately, and what a refresh publishes. */
export type FileRelation = RelationName | 'event_ids' | 'members' | 'member_changes' | 'served'

export interface LakeFile {
  id: number
  brand_id: string | null
  relation: FileRelation
  path: string
  level: number
  schema_version: number
  rows: number
  bytes: number
  tick_lo: number
  tick_hi: number
  created_at: Date
}

export interface NewFile {
  brand_id: string | null
  relation: FileRelation
  path: string
  level: number
  rows: number
  bytes: number
  sha256: Buffer
  tick_lo: number
  tick_hi: number
  occurred_lo: Date | null
  occurred_hi: Date | null
  /** Of a shared file: its rows per brand. */
  brands?: { brand_id: string; rows: number }[]
  /** Of rows that are copied as they are; else the newest version. */
  schema_version?: number
  /** Of rows that were in others before: since when they wait to be cut. */
  created_at?: Date
}

/** What a brand session pins: the brand's own files and the shared ones that hold rows of it. */
export interface Manifest {
  brandId: string
  tick: number
  generation: number
  cutTicks: Record<string, number>
  /** What all segments have been evaluated over; infinite before the first refresh. */
  seenTick: number
  /** Of the last tick that brought rows of the brand. */
  changedTick: number
  /** Erasures of the brand so far: none may come between this manifest and a publish that is based on it. */
  erasures: number
  /** When it was the newest. */
  at: Date
  files: LakeFile[]
  staged: LakeFile[]
}

export async function brandManifest(postgres: Postgres, brandId: string): Promise<Manifest> {
  const at = new Date()
  const pinned = await postgres.pipeline.one<PinnedRow>('lake_brand_manifest', [brandId])
  return {
    brandId,
    tick: pinned.tick,
    generation: pinned.generation,
    cutTicks: pinned.cut_ticks,
    seenTick: pinned.seen_tick ?? Number.POSITIVE_INFINITY,
    changedTick: pinned.changed_tick,
    erasures: pinned.erasures,
    at,
    files: pinned.files.map(fileOf),
    staged: pinned.staged.map(fileOf),
  }
}

type FileJson = Omit<LakeFile, 'created_at'> & { created_at: string }

interface PinnedRow {
  tick: number
  generation: number
  cut_ticks: Record<string, number>
  seen_tick: number | null
  changed_tick: number
  erasures: number
  files: FileJson[]
  staged: FileJson[]
}

/** The files that hold rows of a relation, the shared ones among them. */
export const filesOf = ({ files, staged }: Manifest, relation: FileRelation): LakeFile[] =>
  [...files, ...staged].filter((file) => file.relation === relation)

/** Those that hold rows that came after a tick. */
export const laterFiles = (manifest: Manifest, relation: FileRelation, tick: number): LakeFile[] =>
  filesOf(manifest, relation).filter(({ tick_hi }) => tick_hi > tick)

/** Rows of the sources, each version of one counted. */
export const sourceRows = ({ files, staged }: Manifest): number =>
  [...files, ...staged].reduce((sum, { relation, rows }) => sum + (relation in RELATIONS ? rows : 0), 0)

const fileOf = (file: FileJson): LakeFile => ({ ...file, created_at: new Date(file.created_at) })

/** Records written files within the publishing transaction. */
export async function addFiles(tx: Statements, files: readonly NewFile[]): Promise<void> {
  for (const file of files) {
    const { id } = await tx.one<{ id: number }>('lake_file_add', [
      file.brand_id,
      file.relation,
      file.path,
      file.level,
      file.schema_version ?? newestVersion(file.relation),
      file.rows,
      file.bytes,
      file.tick_lo,
      file.tick_hi,
      file.occurred_lo,
      file.occurred_hi,
      file.sha256,
      file.created_at ?? null,
    ])
    const brands = file.brands ?? []
    if (brands.length)
      await tx.run('staged_rows_add', [id, brands.map((row) => row.brand_id), brands.map((row) => row.rows)])
  }
}

const newestVersion = (relation: FileRelation) =>
  relation in RELATIONS ? RELATIONS[relation as RelationName].schemaVersion : 1

/** Voids a publish of the brand that is based on files from before an erasure. */
export async function refuseErased(tx: Statements, { brandId, erasures }: Manifest, what: string) {
  if (!(await tx.maybe('lake_brand_unerased', [brandId, erasures]))) throw new Outrun(what)
}

/** Another worker published first: this one's files are orphans, and nothing is lost. */
export class Outrun extends Error {
  constructor(what: string, options?: ErrorOptions) {
    super(`${what}: another worker was first`, options)
    this.name = 'Outrun'
  }
}

/**
 * What it means that a file under way could not be finished. An erasure removes what nobody lists: it would hold the
 * erased, and could not be published any more.
 */
export const unfinished = (error: unknown, what: string): unknown =>
  errorCode(error) === 'ENOENT' ? new Outrun(what) : error

/**
 * Publishes written files by one transaction, all of them or, where one was removed meanwhile, none. Those of an attempt
 * that another worker outran are removed: nobody will ever list them. After any other failure they stay, since a lost
 * connection does not say whether they were published.
 */
export async function publishFiles(
  { postgres, lakeDir }: { postgres: Postgres; lakeDir: string },
  files: readonly Pick<NewFile, 'path'>[],
  work: (tx: Statements) => Promise<void>,
): Promise<void> {
  // What was mounted when they were begun may not be by now.
  await requireOwnLake({ postgres, lakeDir })
  try {
    await postgres.pipeline.tx(async (tx) => {
      await work(tx)
      // Once they are listed: whoever removes what nobody lists has removed it, or waits for this transaction.
      for (const { path } of files) await requireThere(join(lakeDir, path))
    })
  } catch (error) {
    if (error instanceof Outrun) for (const { path } of files) await rm(join(lakeDir, path), { force: true })
    throw error
  }
}

const requireThere = (path: string) =>
  stat(path).catch((error: unknown) => {
    throw unfinished(error, path)
  })

/** Retires input files; every one of them must still be live, else the whole publish is void. */
export async function retireFiles(tx: Statements, ids: readonly number[], what: string): Promise<void> {
  if (ids.length && (await tx.run('lake_files_retire', [ids])) !== ids.length) throw new Outrun(what)
}
