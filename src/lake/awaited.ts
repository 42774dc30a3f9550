import type { Statements } from '../op.ts'
import type { Duck } from '../store/duckdb.ts'
import { asEvents } from './new-events.ts'
import type { Pipeline } from './pipeline.ts'

/** An event that campaigns of its brand wait for. */
interface AwaitedEvent {
  brand_id: string
  event_id: string
  event_type: string
  subject: number | null
  occurred_at: Date
  /** JSON. */
  properties: string
}

/** Rows of the table `awaited_events` that one statement keeps. */
export interface AwaitedRows {
  first: number
  last: number
}

/** Rows and bytes of one statement. */
const ROWS = 5_000
const BYTES = 8 << 20

/**
 * Of the events of a tick (table `new_lines`) those that campaigns wait for, in the order of receipt, as table
 * `awaited_events`: all of a tick can be too many for the heap. What a browser sends starts none: anyone can forge it.
 */
export async function awaitedEvents({ postgres }: Pipeline, duck: Duck): Promise<AwaitedRows[]> {
  const awaited = await postgres.pipeline.many<{ brand_id: string; event_type: string }>(
    'lake_awaited_events',
  )
  if (awaited.length === 0) return []
  const pairs = JSON.stringify(awaited.map(({ brand_id, event_type }) => [brand_id, event_type]))
  await duck.run(
    `create table awaited_events as
     with awaited as (
       select (pair ->> 0)::uuid as brand_id, pair ->> 1 as event_type
       from (select unnest($1::json::json[]) as pair)
     )
     select brand_id::varchar as brand_id, event_id, event_type, subject, occurred_at, properties::varchar as properties
     from (${asEvents('(from new_lines semi join awaited using (brand_id, event_type) where not by_browser)')}) as event
     order by event.received_at, batch_id, line`,
    [pairs],
  )
  return await duck.rows<AwaitedRows>(
    `select min(row) as first, max(row) as last
     from (
       select rowid as row, rowid // ${ROWS} + sum(strlen(properties)) over (order by rowid) // ${BYTES} as part
       from awaited_events
     )
     group by part
     order by first`,
  )
}

/** Keeps them until their campaigns have started, within the transaction that publishes the tick. */
export async function keepAwaited(
  tx: Pick<Statements, 'run'>,
  duck: Duck,
  awaited: readonly AwaitedRows[],
): Promise<void> {
  for (const { first, last } of awaited) {
    const events = await duck.rows<AwaitedEvent>(
      'from awaited_events where rowid between $1 and $2 order by rowid',
      [first, last],
    )
    const column = <K extends keyof AwaitedEvent>(key: K) => events.map((event) => event[key])
    await tx.run('trigger_events_add', [
      column('brand_id'),
      column('event_id'),
      column('event_type'),
      column('subject'),
      events.map(({ occurred_at }) => occurred_at.toISOString()),
      column('properties'),
    ])
  }
}
