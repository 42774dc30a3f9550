import type { Batcher } from '../src/event/batcher.ts'
import { checkDurability } from '../src/event/log.ts'
import connect from '../src/store/driver.ts'
import type { Postgres } from '../src/store/postgres.ts'

const CONNECTIONS = 2
const BATCH_EVENTS = 2_000

interface Waiting {
  lines: Buffer
  events: number
  resolve(): void
  reject(reason: unknown): void
}

/** For comparison: the same group commit into one Postgres row per event, with a key that drops repeats. */
export async function openRows(postgres: Postgres): Promise<Batcher> {
  await checkDurability(postgres)
  const owner = connect(postgres.url, { max: 1, onnotice: () => {} })
  await owner.unsafe(`create table if not exists bench_event (
    brand_id uuid, event_id text, received_at timestamptz default now(), event jsonb, primary key (brand_id, event_id))`)
  await owner`grant select, insert on bench_event to recoup_pipeline`
  await owner.end()
  const sql = postgres.pool({ max: CONNECTIONS, connection: { synchronous_commit: 'on' } })
  const queue: Waiting[] = []
  let free = CONNECTIONS
  let scheduled = false

  const commit = async () => {
    const batch: Waiting[] = []
    for (let events = 0; queue.length > 0 && events < BATCH_EVENTS; ) {
      const next = queue.shift() as Waiting
      events += next.events
      batch.push(next)
    }
    const lines = batch.flatMap((one) => one.lines.toString().split('\n').slice(0, -1))
    try {
      await sql`insert into bench_event (brand_id, event_id, event)
        select (event ->> 'brand_id')::uuid, event ->> 'event_id', event from unnest(${lines}::text[]::jsonb[]) as event
        on conflict do nothing`
      for (const one of batch) one.resolve()
    } catch (error) {
      for (const one of batch) one.reject(error)
    }
    free++
    pump()
  }
  const pump = () => {
    scheduled = false
    while (queue.length > 0 && free > 0) {
      free--
      void commit()
    }
  }
  return {
    admit: () => () => {},
    store: (_brandId, lines, events) =>
      new Promise((resolve, reject) => {
        queue.push({ lines: Buffer.from(lines), events, resolve, reject })
        if (!scheduled && free > 0) scheduled = setImmediate(pump) !== undefined
      }),
    close: () => sql.end({ timeout: 5 }),
  }
}
