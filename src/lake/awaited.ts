import type { Statements } from '../op.ts'
import type { Duck } from '../store/duckdb.ts'
import { asEvents } from './new-events.ts'
import type { Pipeline } from './pipeline.ts'

/** An event that campaigns of its brand wait for. */
export interface AwaitedEvent {
  brand_id: string
  event_id: string
  event_type: string
  subject: number | null
  occurred_at: Date
  /** JSON. */
  properties: string
}

/** Rows of one statement. */
const ROWS = 5_000

/**
 * Of the events of a tick (table `new_lines`) those that campaigns wait for, in the order of receipt. What a browser
 * sends starts none: anyone can forge it.
 */
export async function awaitedEvents({ postgres }: Pipeline, duck: Duck): Promise<AwaitedEvent[]> {
  const awaited = await postgres.pipeline.many<{ brand_id: string; event_type: string }>(
    'lake_awaited_events',
  )
  if (awaited.length === 0) return []
  const pairs = JSON.stringify(awaited.map(({ brand_id, event_type }) => [brand_id, event_type]))
  return await duck.rows<AwaitedEvent>(
    `with awaited as (
       select (pair ->> 0)::uuid as brand_id, pair ->> 1 as event_type
       from (select unnest($1::json::json[]) as pair)
     )
     select brand_id::varchar as brand_id, event_id, event_type, subject, occurred_at, properties::varchar as properties
     from (${asEvents('(from new_lines semi join awaited using (brand_id, event_type) where not by_browser)')}) as event
     order by event.received_at, batch_id, line`,
    [pairs],
  )
}

/** Keeps them until their campaigns have started, within the transaction that publishes the tick. */
export async function keepAwaited(
  tx: Pick<Statements, 'run'>,
  events: readonly AwaitedEvent[],
): Promise<void> {
  for (let at = 0; at < events.length; at += ROWS) {
    const some = events.slice(at, at + ROWS)
    const column = <K extends keyof AwaitedEvent>(key: K) => some.map((event) => event[key])
    await tx.run('trigger_events_add', [
      column('brand_id'),
      column('event_id'),
      column('event_type'),
      column('subject'),
      some.map(({ occurred_at }) => occurred_at.toISOString()),
      column('properties'),
    ])
  }
}
