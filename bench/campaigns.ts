import { v7 } from 'uuid'
import { openSeal } from '../src/access/seal.ts'
import type { CampaignParts } from '../src/campaign/round.ts'
import { isRunDue } from '../src/campaign/runner.ts'
import { createCampaign, setCampaignStatus } from '../src/campaign/saved.ts'
import { statement } from '../src/store/sqlfile.ts'
import { DAY_MS } from '../src/time.ts'
import { runCampaigns } from '../test/fixtures/campaign-round.ts'
import { options } from './options.ts'
import { postgresCpu } from './postgres-cpu.ts'
import { progress, report, rounded } from './report.ts'
import { stage } from './stage.ts'

// Runs of campaigns in a large store: polls while many wait and none is due, then runs that are due, from the check to the
// message in the outbox.
const { values } = options({
  options: {
    customers: { type: 'string', default: '1000000' },
    waiting: { type: 'string', default: '100000' },
    due: { type: 'string', default: '20000' },
    polls: { type: 'string', default: '200' },
    json: { type: 'string' },
  },
})
const [customers, waiting, due, polls] = [values.customers, values.waiting, values.due, values.polls].map(
  Number,
) as [number, number, number, number]
const { app, brand, end } = await stage()
const { sql } = app.postgres

interface Row {
  work: string
  count: number
  seconds: number
  per_second: number
  cpu_seconds: number
  worst_ms: number
}
const rows: Row[] = []

/** Customers of a large store with an order each, a tenth of the first half merged into ones of the second. */
async function fillCustomers(): Promise<void> {
  await sql`insert into customer (brand_id, subject, id, first_name, provenance)
    select ${brand.id}, n, 'bench:' || n, 'Ada', 'server' from generate_series(0, ${customers - 1}::integer) as n`
  await sql`insert into subject_redirect (brand_id, subject, customer)
    select ${brand.id}, n, ${customers - 1}::integer - n from generate_series(0, ${customers / 2 - 1}::integer, 10) as n`
  await sql`insert into store_order (brand_id, id, external_id, subject, state, billing_status, total, currency_code, created_at, updated_at)
    select ${brand.id}, gen_random_uuid(), n, n, 'complete', 'paid', 59.9, 'USD', now() - interval '30 days', now() - interval '30 days'
    from generate_series(0, ${customers - 1}::integer) as n`
}

/** Contacts with runs that become due at an instant. */
async function fill(campaignId: string, from: number, count: number, dueAt: Date): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => from + n)
  const ids = numbers.map(() => v7())
  await sql`insert into contact (brand_id, id, subject, phone)
    select ${brand.id}, id, n, '+1' || (2000000000 + n)::text
    from unnest(${ids}::uuid[], ${numbers}::integer[]) as given (id, n)`
  await sql`insert into campaign_run (brand_id, id, campaign_id, version, occurrence, contact_id, subject, trigger_event,
      source_kind, source_id, triggered_at, facts, step, due_at)
    select ${brand.id}, gen_random_uuid(), ${campaignId}, 1, 'checkout_abandoned:' || n, id, n, 'checkout_abandoned',
      'checkout', n::text, ${new Date(Date.now() - 3_600_000)},
      jsonb_build_object('checkout_url', 'https://bench.myshopify.com/checkouts/' || n, 'total', '59.90'), 'check', ${dueAt}
    from unnest(${ids}::uuid[], ${numbers}::integer[]) as given (id, n)`
}

/** What Postgres itself says of a poll. */
async function pollOf(): Promise<string> {
  const [row] = await sql.unsafe<{ 'QUERY PLAN': Explained[] }[]>(
    `explain (analyze, buffers, format json) ${statement('postgres', 'runs_due')}`,
  )
  const found = row?.['QUERY PLAN'][0]
  return `a poll takes ${found?.['Execution Time']} ms in Postgres and reads ${found?.Plan['Shared Hit Blocks']} pages`
}

interface Explained {
  'Execution Time': number
  Plan: { 'Shared Hit Blocks': number }
}

/** CPU seconds of this process and of Postgres together are what the cores have to give. */
async function timed(work: string, run: () => Promise<{ count: number; worst: number }>): Promise<void> {
  const before = await postgresCpu(sql)
  const [started, cpu] = [performance.now(), process.cpuUsage()]
  const { count, worst } = await run()
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  rows.push({
    work,
    count,
    seconds: rounded(seconds, 1),
    per_second: rounded(count / seconds),
    cpu_seconds: rounded((user + system) / 1e6 + (await postgresCpu(sql)) - before, 1),
    worst_ms: rounded(worst, 2),
  })
}

try {
  const db = app.postgres.forBrand(brand.id)
  await db.run('message_policy_put', ['00:00', '00:00', null, null, null, null, null])
  const { id } = await createCampaign(
    db,
    { trigger_event: 'checkout_abandoned', action_type: 'sms', wait: { amount: 3, unit: 'days' } },
    'bench',
  )
  await setCampaignStatus(db, id, 'active', new Date(Date.now() - DAY_MS))
  const parts: CampaignParts = {
    postgres: app.postgres,
    lake: () => ({ sources: () => Promise.reject(new Error('no filter looks at customers')) }),
    seal: openSeal(app.config),
    isDemo: () => false,
    agent: null,
    baseUrl: 'https://bench.example',
    storePlatformDomain: 'myshopify.com',
  }
  progress(`${customers} customers and ${waiting} runs that wait`)
  await fillCustomers()
  for (let n = 0; n < waiting; n += 10_000)
    await fill(id, n, Math.min(10_000, waiting - n), new Date(Date.now() + DAY_MS))
  // As autovacuum does it, which is the owner of the tables.
  await sql.begin(async (tx) => {
    await tx`set local role none`
    await tx`analyze`
  })

  const says = await pollOf()
  await timed('polls, none due', async () => {
    let worst = 0
    for (let n = 0; n < polls; n++) {
      const started = performance.now()
      if (await isRunDue(parts, new Date())) throw new Error('a run is due')
      // The first one opens the connection and prepares the statement.
      if (n > 0) worst = Math.max(worst, performance.now() - started)
    }
    return { count: polls, worst }
  })
  progress(`${due} runs that are due`)
  for (let n = 0; n < due; n += 10_000)
    await fill(id, waiting + n, Math.min(10_000, due - n), new Date(Date.now() - 60_000))
  await timed('due runs worked, messages in the outbox', async () => {
    const { worked, sent } = await runCampaigns(parts, () => new Date())
    if (worked !== due || sent !== due) throw new Error(`${worked} runs and ${sent} messages of ${due}`)
    return { count: worked, worst: 0 }
  })
  const command = `node bench/campaigns.ts --customers ${customers} --waiting ${waiting} --due ${due}`
  report({ command, says: `${says}; CPU seconds are of the worker and of Postgres`, json: values.json }, rows)
} finally {
  await end()
}
