import { brandManifest } from '../../lake/manifest.ts'
import { requireOwnLake } from '../../lake/owner.ts'
import { openSession, type Session } from '../../lake/session.ts'
import type { ImportRun } from './file.ts'

/** Rows of the file whose event ids the lake has. */
export interface KnownEvents {
  /** Row numbers. */
  rowsOf(chunk: number): Promise<ReadonlySet<number>>
  close(): Promise<void>
}

const NOTHING_ASKED: KnownEvents = { rowsOf: async () => new Set(), close: async () => {} }

type Asked = Pick<ImportRun, 'pipeline' | 'brand'> & { duck: Pick<ImportRun['duck'], 'rows'> }

/**
 * Looks the ids of some chunks of the table `ready` up in the lake, however long ago they came: by itself it compares new
 * ones with those of 14 days, and a file that is exported anew each month holds those of years. Throws where the lake is
 * not known to be this service's.
 */
export async function knownEvents(run: Asked, chunks: readonly number[]): Promise<KnownEvents> {
  if (chunks.length === 0) return NOTHING_ASKED
  await requireOwnLake(run.pipeline)
  const session = await filledSession(run, chunks)
  return {
    rowsOf: async (chunk) => {
      const rows = await session.duck.rows<{ n: number }>('select n from known where chunk = $1', [chunk])
      return new Set(rows.map(({ n }) => Number(n)))
    },
    close: () => session.close(),
  }
}

/** An erasure may take the files away that it reads: then it reads those that came in their place. */
async function filledSession(run: Asked, chunks: readonly number[]): Promise<Session> {
  const { pipeline, brand } = run
  for (;;) {
    const session = await openSession(pipeline, brand, new Date(), { read: () => new Set(['events']) })
    try {
      await fillKnown(session, run, chunks)
      return session
    } catch (error) {
      await session.close()
      const { erasures } = await brandManifest(pipeline.postgres, brand.id)
      if (erasures === session.manifest.erasures) throw error
    }
  }
}

/** What the lake calls a sender's event (`read_lines`): pages and the service have ids of their own. */
const AS_IN_LAKE = `case
  when event_id like 'browser:%' or event_id like 'service:%' or event_id like 'sender:%' then 'sender:' || event_id
  else event_id
end`

/** Chunk by chunk: a file can have more ids than Node can hold. */
async function fillKnown({ duck }: Session, run: Asked, chunks: readonly number[]): Promise<void> {
  await duck.run('create temp table known (chunk integer, n bigint)')
  if ((await duck.rows('from events limit 1')).length === 0) return
  await duck.run('create temp table given (chunk integer, n bigint, event_id varchar)')
  for (const chunk of chunks) {
    const [row] = await run.duck.rows<{ ids: string }>(
      'select to_json(list({n: n, event_id: event_id}))::varchar as ids from ready where chunk = $1',
      [chunk],
    )
    await duck.run(
      `insert into given
       select $1::integer, id.n, id.event_id from (select unnest(from_json($2::json, '[{"n":"BIGINT","event_id":"VARCHAR"}]')) as id)`,
      [chunk, row?.ids ?? '[]'],
    )
  }
  await duck.run(
    `insert into known
     select chunk, n from (select * replace (${AS_IN_LAKE} as event_id) from given) semi join events using (event_id)`,
  )
  await duck.run('drop table given')
}
