import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Brand, Pin } from '../op.ts'
import { type Duck, openDuck } from '../store/duckdb.ts'
import { brandFolder, type Reached } from '../store/lake.ts'
import { brandManifest, type LakeFile, type Manifest, sourceRows } from './manifest.ts'
import { manifestAt } from './pin.ts'
import type { Pipeline } from './pipeline.ts'
import { RELATIONS, type RelationName, sourceName } from './relations.ts'
import { isRowFile } from './row-file.ts'
import { type Place, SETTINGS, SMALL_BLOCK, SMALL_SETTINGS } from './sandbox.ts'
import { openedOf, openSources } from './sources.ts'

/** A locked DuckDB over one brand's sources at one manifest: it can reach no file of another brand. */
export interface Session {
  readonly duck: Duck
  /** Another connection, whose statements wait for none of `duck`'s; of a small brand, with one thread, the same. */
  readonly beside: Pick<Duck, 'run' | 'rows'>
  readonly manifest: Manifest
  readonly asOf: Date
  /** So few rows that what is written is not worth compressing. */
  readonly isSmall: boolean
  /** What is opened, by what models call it. */
  readonly sources: ReadonlySet<string>
  /** The lake as the session reaches it. */
  readonly lakeDir: string
  /** The lake that it writes to. */
  readonly lake: Reached
  close(): Promise<void>
}

/**
 * Brands with fewer rows of sources are small: all of their customers are computed anew sooner than what changed is
 * found, and mutable rows are copied. Events are not: that takes as long as reading their columns fifteen times.
 */
export const SMALL_ROWS = 200_000

export interface SessionOptions {
  /** Ticks: later changes are looked for. */
  since?: readonly number[]
  smallRows?: number
  /** The only sources that are read: of the others those are opened that changed, too. Default, and undefined: all. */
  read?: (isSmall: boolean, manifest: Manifest) => ReadonlySet<RelationName> | undefined
  /** How far a statement is can be asked of the connection. */
  counted?: boolean
  /** What an earlier session read, to read it again. */
  pin?: Pin | undefined
  /** It ends soon: those of small brands take turns on few instances, of large ones only some are there at once. */
  brief?: boolean
  /** Called where it waits for room, and where it has it. */
  onWait?: ((waits: boolean) => void) | undefined
  /** Ends it, at any time. */
  signal?: AbortSignal | undefined
}

/**
 * Opens the sources of a brand (columns of `RELATIONS`, current versions only) and `params`, then locks them in. With
 * `since`, also `changed_subjects (relation, subject, since)`: whom the rows that a later tick than `since` wrote are
 * about, or were about in an earlier version. An earlier version that was folded away since is not known. An instant that is
 * asked for by a function is that of reading the manifest, which room is waited for before.
 */
export async function openSession(
  pipeline: Pipeline,
  brand: Brand,
  asked: Date | (() => Date),
  {
    since = [],
    smallRows = SMALL_ROWS,
    read,
    counted = false,
    brief = false,
    pin,
    onWait,
    signal,
  }: SessionOptions = {},
): Promise<Session> {
  const readManifest = () =>
    pin ? manifestAt(pipeline, brand.id, pin) : brandManifest(pipeline.postgres, brand.id)
  const first = await readManifest()
  const isSmall = sourceRows(first) < smallRows
  const isRationed = brief && !isSmall
  const room = async () => {
    onWait?.(true)
    return await pipeline.large
      .take({ brandId: brand.id, past: false }, signal ?? NEVER)
      .finally(() => onWait?.(false))
  }
  const leave = isRationed ? await room() : () => {}
  try {
    // It may have waited.
    const manifest = isRationed ? await readManifest() : first
    const asOf = typeof asked === 'function' ? asked() : asked
    const opened = openedOf(manifest, since, read?.(isSmall, manifest))
    const place =
      isSmall && brief
        ? await pipeline.sandboxes.enter(manifest.brandId, filesIn(manifest, opened), signal)
        : await openPlace(pipeline, manifest.brandId, { isSmall, counted, signal })
    try {
      const { duck, lakeDir } = place
      await openSources(duck, lakeDir, { brand, asOf, manifest, isSmall, opened, since })
      const beside = await place.lock()
      const close = () => place.close().finally(leave)
      return {
        duck,
        beside,
        manifest,
        asOf,
        isSmall,
        sources: new Set(opened.map(sourceName)),
        lakeDir,
        lake: { lakeDir: pipeline.lakeDir, from: lakeDir },
        close,
      }
    } catch (error) {
      await place.close()
      throw error
    }
  } catch (error) {
    leave()
    throw error
  }
}

const NEVER = new AbortController().signal

/** The files that a session can ask for: of sources those that it opens, and all that a refresh published. */
const filesIn = ({ files, staged }: Manifest, opened: readonly RelationName[]): LakeFile[] =>
  [...files, ...staged].filter(({ relation, path }) =>
    relation in RELATIONS ? opened.includes(relation as RelationName) : !isRowFile(path),
  )

interface PlaceOptions {
  isSmall: boolean
  counted: boolean
  signal: AbortSignal | undefined
}

/** An instance of the session's own. */
async function openPlace(
  pipeline: Pipeline,
  brandId: string,
  { isSmall, counted, signal }: PlaceOptions,
): Promise<Place> {
  const folder = join(pipeline.lakeDir, brandFolder(brandId))
  const tempDir = join(folder, 'tmp', uuidv7())
  // Of so few rows a second thread costs more than it gives, and so do large blocks.
  const sized = isSmall ? { threads: 1, blockBytes: SMALL_BLOCK } : { threads: pipeline.threads }
  const duck = await openDuck({ memoryMb: pipeline.memoryMb, ...sized, tempDir, counted, signal })
  const close = async () => {
    duck.close()
    await rm(tempDir, { recursive: true, force: true })
  }
  try {
    await duck.run((isSmall ? SMALL_SETTINGS : SETTINGS).join('; '))
  } catch (error) {
    await close()
    throw error
  }
  const lock = async () => {
    const beside = isSmall ? duck : await duck.beside()
    await duck.lock([folder])
    return beside
  }
  return { duck, lakeDir: pipeline.lakeDir, lock, close }
}
