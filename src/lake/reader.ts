import type { Brand, Lake, Reader } from '../op.ts'
import type { Pipeline } from './pipeline.ts'
import type { Served } from './served.ts'
import { openSession, type Session } from './session.ts'

/** Prepares an opened session: creates the models in it. Passed in, since models stand to the right of the lake. */
export type Prepare = (session: Session) => Promise<void>

/** Sessions over sources kept per process; each holds its own DuckDB memory limit. */
const KEPT = 2
/** A kept session shows the manifest that it opened with: accepted events must be in every read within 60 s. */
const FRESH_MS = 20_000

interface Kept {
  session: Promise<Session>
  openedAt: number
}

export interface Lakes {
  forBrand(brand: Brand): Lake
  close(): Promise<void>
}

/** What operations read of brands' lakes: published results, and sources for what is computed on request. */
export function openLakes(pipeline: Pipeline, served: Served, prepare: Prepare): Lakes {
  const kept = new Map<string, Kept>()

  const open = async (brand: Brand, asOf: Date): Promise<Session> => {
    const session = await openSession(pipeline, brand, asOf)
    try {
      await prepare(session)
      return session
    } catch (error) {
      await session.close()
      throw error
    }
  }
  const drop = (brandId: string) => {
    const entry = kept.get(brandId)
    kept.delete(brandId)
    // Statements of a session run in order: closing waits for those that were sent before.
    return entry?.session
      .then((session) => session.duck.run('select 1').finally(() => session.close()))
      .catch(() => {})
  }
  const recent = (brand: Brand): Promise<Session> => {
    const entry = kept.get(brand.id)
    if (entry && Date.now() - entry.openedAt < FRESH_MS) return entry.session
    void drop(brand.id)
    const session = open(brand, new Date())
    kept.set(brand.id, { session, openedAt: Date.now() })
    session.catch(() => kept.delete(brand.id))
    if (kept.size > KEPT) void drop(kept.keys().next().value as string)
    return session
  }
  const readerOf = (session: Session, after?: () => Promise<void>): Reader => ({
    generation: session.manifest.generation,
    rows: async (statement, values) => {
      try {
        return await session.duck.rows(statement, values)
      } finally {
        await after?.()
      }
    },
  })

  return {
    forBrand: (brand) => ({
      served: () => served.reader(brand.id),
      // A past instant gets a session of its own, for one statement.
      sources: async (asOf) => {
        if (!asOf) return readerOf(await recent(brand))
        const session = await open(brand, asOf)
        return readerOf(session, () => session.close())
      },
    }),
    close: async () => {
      await Promise.all([...kept.keys()].map(drop))
      await served.close()
    },
  }
}
