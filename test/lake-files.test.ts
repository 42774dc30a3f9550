import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import type { App } from '../src/app.ts'
import { lakeCommands } from '../src/cli/lake.ts'
import { CHECKOUT, readConfig } from '../src/config.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { openReading } from '../src/segment/reading.ts'
import { runCommand } from './fixtures/command.ts'
import { lake, logBatch, tick } from './fixtures/lake.ts'
import { at, store } from './fixtures/viewed-store.ts'

interface Listed {
  brand_id: string
  generation: number
  files: { relation: string; path: string; after_tick: number | null; tick_hi: number }[]
}

const pipeline = await lake(t)
const { sql } = pipeline.postgres
const { brand, save, refresh } = await store(pipeline)
const app: App = {
  config: readConfig({}),
  postgres: pipeline.postgres,
  pipeline,
  migrated: [],
  close: async () => {},
}
const folder = mkdtempSync(join(tmpdir(), 'recoup-lake-files-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const list = () => runCommand<Listed>(app, lakeCommands, 'lake files', { brand: brand.id })

const customer = (subject: number, more: object = {}) => sql`
  insert into customer ${sql({
    ...{
      brand_id: brand.id,
      subject,
      id: `c${subject}`,
      provenance: 'server',
      email: `${subject}@example.com`,
    },
    ...{ created_at: '2026-05-01', updated_at: '2026-05-01', ...more },
  })}`
const order = (number: string, subject: number, total: number) => sql`
  insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, created_at, updated_at)
  values (${brand.id}, ${number}, gen_random_uuid(), ${subject}, 'complete', 'paid', 'USD', ${total}, '2026-05-01', now())`
const redirect = (subject: number, to: number) =>
  sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, ${subject}, ${to})`

// Who spent what, in files of the brand's own and, of what came later, in shared ones.
await save('Spent 500 or more', {
  source: 'customer_profile',
  rule: { field: 'total_spend', op: '>=', value: '500.00' },
})
await logBatch(sql, [{ brand_id: brand.id, event_id: 'visit', anonymous_id: 'v' }])
await tick(pipeline)
await save('Known', { source: 'customer_profile', rule: { field: 'email', op: 'exists' } })
for (let subject = 20; subject < 50; subject++) await customer(subject)
for (const subject of [11, 12, 13, 14, 15, 16]) await customer(subject)
await order('joined before', 11, 300)
await order('joined after', 12, 250)
await order('refunded later', 13, 600)
await order('of one who goes', 14, 900)
await order('stays', 15, 700)
await order('lent', 16, 400)
await redirect(16, 13)
await tick(pipeline)
await compactBrand(pipeline, brand.id, true)
await refresh(at('2026-05-02T00:00:00'))
await redirect(12, 11)
await sql`update subject_redirect set deleted = true where brand_id = ${brand.id} and subject = 16`
await sql`update store_order set refunded_total = 200 where brand_id = ${brand.id} and external_id = 'refunded later'`
await sql`update customer set deleted = true where brand_id = ${brand.id} and subject = 14`
await tick(pipeline)

/** A part of a document, from its heading to the next. */
function part(file: string, heading: string): string {
  const text = readFileSync(join(CHECKOUT, file), 'utf8')
  const [, found] = text.split(`\n## ${heading}\n`)
  return found?.split('\n## ')[0] ?? ''
}

/** What the first statements of a part of a document answer. */
async function ask(file: string, heading: string): Promise<Record<string, unknown>[]> {
  const listed = join(folder, 'files.json')
  writeFileSync(listed, JSON.stringify(await list()))
  const [, block = ''] = part(file, heading).match(/```sql\n(.*?)```/s) ?? []
  const text = block
    .replaceAll('.data/lake/', `${pipeline.lakeDir}/`)
    .replaceAll("'files.json'", `'${listed}'`)
  return await answer(text)
}

/** Rows of the last of some statements, as a DuckDB beside the service has them. */
async function answer(text: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  try {
    return (await connection.runAndReadAll(text)).getRowObjectsJson()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Rows of statements of `recoup sql`. */
async function read(statement: string): Promise<Record<string, unknown>[]> {
  const session = await openReading(pipeline, brand)
  try {
    return await session.duck.rows(statement)
  } finally {
    await session.close()
  }
}

t.test('lake files lists what counts, and after which tick of shared files', async (t) => {
  const { files } = await list()
  const counting = await sql<{ path: string }[]>`
    select path from lake_file
    where retired_at is null and relation not in ('served', 'event_ids') and (brand_id is not null
      or tick_hi > coalesce((select (cut_ticks ->> relation)::bigint from lake_brand where brand_id = ${brand.id}), 0))`
  t.same(files.map(({ path }) => path).sort(), counting.map(({ path }) => path).sort())
  const orders = files.filter(({ relation }) => relation === 'orders')
  t.match(orders, [
    { path: /^brands\//, after_tick: null },
    { path: /^staging\//, after_tick: 2 },
  ])
})

t.test(
  'the query of the README answers what recoup sql does, over merges and files of both kinds',
  async (t) => {
    const expected = await read('select count(*) as customers from ltv where ltv >= 500')
    t.same(expected, [{ customers: 2 }])
    t.match(await ask('README.md', 'The lake'), [{ customers: '2' }])
  },
)

t.test(
  'the query of docs/lake.md has the members of recoup sql, changed since the base and merged ones too',
  async (t) => {
    await refresh(at('2026-05-03T00:00:00'))
    await redirect(15, 11)
    await tick(pipeline)
    const { files } = await list()
    const newest = (wanted: string) =>
      Math.max(...files.filter(({ relation }) => relation === wanted).map(({ tick_hi }) => tick_hi))
    t.same([newest('members'), newest('member_changes')], [1, 2])
    const expected = await read(
      'from segment_members join segment_ids using (segment_id) select segment, customer order by all',
    )
    t.equal(expected.length, 33 + 1)
    t.same(await ask('docs/lake.md', 'members'), expected)
  },
)

t.test(
  'docs/lake.md has the columns of files that no relation declares, and those of the manifest',
  async (t) => {
    const documented = (heading: string) =>
      [...part('docs/lake.md', heading).matchAll(/^\| `(\w+)` \| `(.+?)` \|/gm)].map(([, name, type]) => ({
        name,
        type,
      }))
    for (const relation of ['members', 'member_changes', 'event_ids']) {
      const [file] = await sql<{ path: string }[]>`
      select path from lake_file where relation = ${relation} order by id limit 1`
      const described = await answer(`describe from '${join(pipeline.lakeDir, file?.path ?? '')}'`)
      const columns = described.map(({ column_name: name, column_type: type }) => ({ name, type }))
      t.same(documented(relation), columns, relation)
    }
    const named = [...part('docs/lake.md', 'Members in recoup sql').matchAll(/^\| `(\w+)` \| (`.+?`) \|/gm)]
    t.equal(named.length, 3)
    for (const [, relation, columns] of named) {
      const described = await read(`describe ${relation}`)
      t.equal(described.map(({ column_name }) => `\`${column_name}\``).join(', '), columns)
    }
    const columns = await sql`
    select column_name as name, data_type as type from information_schema.columns
    where table_schema = 'public' and table_name = 'lake_file' order by ordinal_position`
    t.same(documented('lake_file'), columns)
  },
)
