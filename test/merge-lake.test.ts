import t, { type Test } from 'tap'
import { createSubjectCache } from '../src/identity/cache.ts'
import { listMerges, undoMerge } from '../src/identity/merge.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import type { Brand } from '../src/op.ts'
import { openReading } from '../src/segment/reading.ts'
import { brand } from './fixtures/brand.ts'
import { type Line, lake, logBatch, passed, tick } from './fixtures/lake.ts'

/** Merges as readers of the lake see them. */
async function read<Row = Record<string, unknown>>(pipeline: Pipeline, owner: Brand, statement: string) {
  const session = await openReading(pipeline, owner)
  try {
    return await session.duck.rows<Row>(statement)
  } finally {
    await session.close()
  }
}

/** How many events each customer has, by the email of the customer. */
const EVENTS = `
  select email, provenance, count(event_id) as events from stg_customers left join stg_events using (customer)
  where email is not null group by all order by email`

/** Profiles and merges that a tick makes are in the lake with the next one. */
async function settle(pipeline: Pipeline): Promise<void> {
  await tick(pipeline)
  await tick(pipeline)
}

async function begin(t: Test) {
  const pipeline = await lake(t)
  const owner = await brand(pipeline)
  return {
    pipeline,
    owner,
    db: pipeline.postgres.forBrand(owner.id),
    send: async (...lines: Omit<Line, 'brand_id'>[]) => {
      await logBatch(
        pipeline.postgres.sql,
        lines.map((line) => ({ brand_id: owner.id, ...line })),
      )
      await settle(pipeline)
    },
    read: <Row = Record<string, unknown>>(statement: string) => read<Row>(pipeline, owner, statement),
  }
}

t.test(
  'events of a retired customer count for the survivor, late ones too, and for itself again when undone',
  async (t) => {
    const { pipeline, owner, db, send, read } = await begin(t)
    const [guest, stored] = [{ email: 'a@example.com' }, { store_customer_id: '9' }]
    await send(guest, guest, stored)
    await send({ ...stored, email: 'a@example.com' })
    t.same(await read(EVENTS), [{ email: 'a@example.com', provenance: 'merged', events: 4 }])
    await send(guest)
    t.same(await read(EVENTS), [{ email: 'a@example.com', provenance: 'merged', events: 5 }])
    t.match(await read('select * from stg_merges'), [
      { evidence_kind: 'email', source: 'server', to_customer_id: /:9$/, undone_at: null },
    ])
    const retired = await read(`select kind, value, merged from stg_identities order by merged, kind`)
    t.match(retired, [
      { kind: 'customer_id', merged: false },
      { kind: 'store_customer_id', value: '9', merged: false },
      { kind: 'customer_id', merged: true },
    ])

    const [merge] = await listMerges(db, 1)
    await undoMerge(db, merge?.id ?? '', 'cli')
    await tick(pipeline)
    t.same(
      await read(`select store_customer_id, provenance, count(event_id) as events
    from stg_customers left join stg_events using (customer) group by all order by events`),
      [
        { store_customer_id: '9', provenance: 'server', events: 2 },
        { store_customer_id: null, provenance: 'server', events: 3 },
      ],
    )
    // The subjects that this worker remembers are right still, and so are those of another one.
    await send(guest, stored)
    const another = {
      ...pipeline,
      subjects: createSubjectCache(),
    }
    await logBatch(pipeline.postgres.sql, [
      { brand_id: owner.id, ...guest },
      { brand_id: owner.id, ...stored, ...guest },
    ])
    await settle(another)
    t.same(
      await read(`select store_customer_id, count(event_id) as events
    from stg_customers left join stg_events using (customer) group by all order by events`),
      [
        { store_customer_id: '9', events: 4 },
        { store_customer_id: null, events: 5 },
      ],
    )
    t.match(await read('select undone_by, customer from stg_merges'), [{ undone_by: 'cli', customer: null }])
  },
)

t.test(
  'what a browser did before its customer was known counts for the customer, whose channels stay',
  async (t) => {
    const { pipeline, owner, send, read } = await begin(t)
    const browser = { anonymous_id: 'v1', origin: 'browser' } as const
    await send(browser, { ...browser, email: 'A@Example.com', phone: '+14155552671' })
    t.same(await read(EVENTS), [], 'nobody has an address that only a browser gave')
    await send({ email: 'a@example.com' })
    await send({ ...browser, email: 'b@example.com' }, { email: 'b@example.com' }, browser)
    t.same(await read(EVENTS), [
      { email: 'a@example.com', provenance: 'server', events: 5 },
      { email: 'b@example.com', provenance: 'server', events: 1 },
    ])
    t.same(await read('select phone from stg_customers where phone is not null'), [])
    t.match(await read(`select kind, value, provenance from stg_identities where kind = 'visitor_id'`), [
      { value: 'v1', provenance: 'pixel' },
    ])
    t.same(
      [
        ...(await pipeline.postgres.sql`
        select email, phone, sms_consent, email_consent from contact where brand_id = ${owner.id} order by email`),
      ],
      [
        { email: 'a@example.com', phone: null, sms_consent: 'unknown', email_consent: 'unknown' },
        { email: 'b@example.com', phone: null, sms_consent: 'unknown', email_consent: 'unknown' },
      ],
    )
  },
)

t.test('two workers on the same events agree on who is who', async (t) => {
  const { pipeline, owner, read } = await begin(t)
  const { sql } = pipeline.postgres
  const other = { ...pipeline, subjects: createSubjectCache() }
  for (let round = 0; round < 3; round++) {
    await logBatch(
      sql,
      Array.from(
        { length: 60 },
        (_, n): Line => ({
          brand_id: owner.id,
          email: `c${n % 7}@example.com`,
          ...(n % 3 === round ? { phone: `+141555526${10 + (n % 4)}` } : { anonymous_id: `v${n % 11}` }),
          ...(n % 5 === 0 ? { origin: 'browser' } : {}),
        }),
      ),
    )
    await passed(pipeline)
    const done = await Promise.allSettled([snapshot(pipeline), snapshot(other)])
    const failed = done.flatMap((one) => (one.status === 'rejected' ? [one.reason.name] : []))
    t.ok(failed.length < 2 && failed.every((name) => name === 'Outrun'), failed.join())
  }
  await settle(pipeline)
  const [row] = await read<{ events: number; unknown: number }>(`
    select count(*) as events, count(*) filter (customer not in (select customer from stg_customers)) as unknown
    from stg_events`)
  t.same(row, { events: 180, unknown: 0 })
})
