import postgres from 'postgres'
import t from 'tap'
import type { Brand } from '../src/op.ts'
import { sqlFiles } from '../src/store/sqlfile.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { brandTables, fillAlike, fillBrand } from './fixtures/rows.ts'
import { unfiltered } from './fixtures/unfiltered.ts'

/**
 * The two walls between brands, each without the other: every brand table is read and written as the app without a
 * filter, and every filter of a named statement is dropped in turn. The role of the pipeline, which passes the second
 * wall, shows that each of these would be noticed.
 */
const db = await database(t)
const { sql } = db.postgres
const mine = await makeBrand(db, { features: ['cdp'] })
const other = await makeBrand(db, { features: ['cdp'] })
// A run and a message wait for the orders of a store, which were read.
await sql`update worker_watch set resumed_at = date_trunc('milliseconds', now())`
const WAITING = sql`select resumed_at + interval '1 hour' from worker_watch`
// The other one's rows first: where the oldest of some counts, it is theirs.
for (const brand of [other, mine]) {
  await fillBrand(db, brand)
  await fillAlike(db, brand)
  await sql`
    insert into dead_event (batch_id, line, brand_id, reason, payload)
    values (gen_random_uuid(), 1, ${brand.id}, 'not json', ${brand.id})`
  await sql`update lake_brand set failures = 1 where brand_id = ${brand.id}`
  await sql`
    insert into store_sync (brand_id, purpose, entity, total, started_at, finished_at)
    values (${brand.id}, 'reconcile', 'orders', 0, now(), now() + interval '1 day')
    on conflict (brand_id, purpose, entity) do update set finished_at = excluded.finished_at`
  await sql`
    insert into campaign_run
    select (jsonb_populate_record(run, jsonb_build_object(
      'id', gen_random_uuid(), 'occurrence', 'waits', 'state', 'waiting', 'step', 'check', 'outcome', null, 'due_at', (${WAITING})
    ))).*
    from campaign_run as run where brand_id = ${brand.id} limit 1`
  await sql`
    insert into run_step (brand_id, run_id, ordinal, id, at, step, state, reason)
    select brand_id, id, 1, gen_random_uuid(), now(), step, state, 'quiet_hours'
    from campaign_run where brand_id = ${brand.id} and occurrence = 'waits'`
  await sql`
    insert into message
    select (jsonb_populate_record(message, jsonb_build_object(
      'id', gen_random_uuid(), 'idempotency_key', 'waits', 'status', 'queued', 'reason', 'quiet_hours', 'next_attempt_at', (${WAITING})
    ))).*
    from message where brand_id = ${brand.id} limit 1`
}
const tables = await brandTables(sql)
/** Some of its lines are of no brand. */
const DEAD_EVENT = { name: 'dead_event', column: 'brand_id' }

type Role = 'recoup_app' | 'recoup_pipeline'
type Rows = postgres.RowList<postgres.Row[]>
const single = postgres(db.url, {
  max: 1,
  onnotice: () => {},
  types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
})
t.teardown(() => single.end())
const run = (text: string, args: unknown[] = []) =>
  single.unsafe(text, args as never[], { prepare: true }) as PromiseLike<unknown> as Promise<Rows>

/** Work in a transaction of a role, for a brand or none, that is rolled back. */
async function as<T>(role: Role, brand: Brand | null, work: () => Promise<T>): Promise<T> {
  await run('begin')
  try {
    await run(`set local role ${role}`)
    if (brand) await run("select set_config('app.brand', $1, true)", [brand.id])
    return await work()
  } finally {
    await run('rollback')
  }
}

/** What a statement answers, or the code of its error, and what it changed of the other brand; then undone. */
async function effect(text: string, args: unknown[]): Promise<string> {
  await run('savepoint before')
  try {
    const rows = await run(text, args)
    const answer = [rows.count, ...rows.map((row) => JSON.stringify(row)).sort()]
    return JSON.stringify([answer, await changedOf(other)])
  } catch (error) {
    const { code } = error as { code?: string }
    if (!code) throw error
    return `error ${code}`
  } finally {
    await run('rollback to savepoint before')
  }
}

/** Hashes of all rows of a brand in the tables that it is in, or those named. */
async function stateOf(brand: Brand, names?: readonly string[]): Promise<Map<string, string>> {
  const each = [...tables, DEAD_EVENT]
    .filter(({ name }) => names?.includes(name) ?? true)
    .map(
      ({ name, column }) =>
        `select '${name}' as name, md5(coalesce(string_agg(r::text, ',' order by r::text), '')) as hash
         from ${name} as r where ${column} = '${brand.id}'`,
    )
  const rows = each.length > 0 ? await run(each.join(' union all ')) : []
  return new Map(rows.map(({ name, hash }) => [name, hash]))
}

/** Nothing but this test writes, and all that it writes is undone. */
const untouched = await stateOf(other)

/** Whatever wrote to a table of this transaction, a function or a trigger too, still has its lock. */
const WRITTEN = `
  select distinct relname as name from pg_locks join pg_class on pg_class.oid = relation
  where pid = pg_backend_pid() and mode not in ('AccessShareLock', 'RowShareLock') and relkind in ('r', 'p')`

/** The tables in which a brand's rows are others now, and what they are. */
async function changedOf(brand: Brand): Promise<string[][]> {
  const written = (await run(WRITTEN)).map(({ name }) => name)
  if (written.length === 0) return []
  await run('set local role recoup_pipeline')
  return [...(await stateOf(brand, written))].filter(([name, hash]) => hash !== untouched.get(name))
}

const refused = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error) => (error as { code: string }).code,
  )

t.test('every brand table has rows of both brands, for the pipeline to see', async (t) => {
  t.ok(tables.length > 15)
  for (const { name, column } of tables) {
    const rows = await as('recoup_pipeline', null, () =>
      run(`select distinct ${column} as brand from ${name}`),
    )
    t.same(rows.map((row) => row.brand).sort(), [mine.id, other.id].sort(), name)
  }
})

t.test('a view that the app reads shows its own rows only', async (t) => {
  const views = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'v' and has_any_column_privilege('recoup_app', oid, 'select')`
  t.ok(views.length > 1)
  for (const { name } of views) {
    const read = (role: Role, brand: Brand | null) =>
      as(role, brand, () => run(`select distinct brand_id as brand from ${name} order by brand`))
    const all = [mine.id, other.id].sort().map((brand) => ({ brand }))
    t.same(await read('recoup_pipeline', null), all, name)
    t.same(await read('recoup_app', mine), [{ brand: mine.id }], name)
    t.same(await read('recoup_app', null), [], name)
  }
})

for (const { name, column } of tables) {
  t.test(`the app sees and changes its own rows of ${name} only`, async (t) => {
    const [mayRead] = await sql`select has_table_privilege('recoup_app', ${name}, 'select') as may`
    const read = (brand: Brand | null) =>
      as('recoup_app', brand, () => run(`select distinct ${column} as brand from ${name}`))
    if (!mayRead?.may) {
      t.equal(await refused(read(mine)), '42501')
      return
    }
    t.same(
      (await read(mine)).map((row) => row.brand),
      [mine.id],
    )
    t.same(await read(null), [], 'and nothing without a brand')

    const change = (text: string, args: unknown[]) => as('recoup_app', mine, () => run(text, args))
    t.equal(
      (await change(`update ${name} set ${column} = ${column} where ${column} = $1`, [other.id])).count,
      0,
    )
    t.equal((await change(`delete from ${name} where ${column} = $1`, [other.id])).count, 0)
    t.equal(
      await refused(change(`update ${name} set ${column} = $1`, [other.id])),
      '42501',
      'gives none away',
    )
    const [row] =
      await sql`select to_json(r)::text as row from ${sql(name)} as r where ${sql(column)} = ${other.id}`
    const insert = `insert into ${name} overriding system value select * from json_populate_record(null::${name}, $1::text::json)`
    t.equal(await refused(change(insert, [row?.row])), '42501', 'adds none for another brand')
  })
}

interface Mutant {
  name: string
  original: string
  mutated: string
}

const mutants: Mutant[] = [...sqlFiles('sql/postgres')].flatMap(([name, original]) =>
  unfiltered(original).map((mutated) => ({ name, original, mutated })),
)

const TYPES = new Map(
  (await sql`select oid, typname from pg_type`).map((row) => [row.oid, String(row.typname)]),
)
type Row = Record<string, unknown>
type RowsByTable = ReadonlyMap<string, Row[]>

async function rowsOf({ id }: Brand): Promise<RowsByTable> {
  const rows = new Map<string, Row[]>()
  for (const { name, column } of [...tables, DEAD_EVENT])
    rows.set(name, await sql`select * from ${sql(name)} where ${sql(column)} = ${id}`)
  return rows
}
const [theirs, own] = [await rowsOf(other), await rowsOf(mine)]
const everyones: RowsByTable = new Map(
  [...theirs].map(([name, rows]) => [name, [...rows, ...(own.get(name) ?? [])]]),
)

/** Arguments that fit rows of the other brand, so that nothing but the brand keeps them away; one list per attempt. */
async function argumentsFor(original: string, rowsByTable: RowsByTable): Promise<unknown[][]> {
  const { types } = await single.unsafe(original).describe()
  const places = types.map((oid, index) => placeOf(original, index + 1, TYPES.get(oid) ?? ''))
  const all = [...rowsByTable.values()].flat()
  const named = [...rowsByTable].filter(([table]) => original.includes(table)).flatMap(([, rows]) => rows)
  const candidates = (rows: readonly Row[]) =>
    places.map((place) => {
      const found = place.valuesIn(rows)
      return place.fitting(found.length > 0 ? found : place.valuesIn(all))
    })
  const alike = Map.groupBy(named, markOf).values()
  const fit = [named, ...alike].flatMap((rows) => combined(candidates(rows)))
  // Those of one row fit together.
  const values = candidates(named)
  for (const row of named)
    fit.push(values.map((each, at) => each.find((value) => value === row[places[at]?.name ?? '']) ?? each[0]))
  const lists = [...fit, ...fit.map((args) => changing(original, args))]
  return [...new Map(lists.map((args) => [JSON.stringify(args), args])).values()]
}

/** The first word of what rows that brands have alike say. */
const markOf = (row: Row) =>
  /^(merged|plain|own|nobody) /.exec(
    Object.values(row).find((value) => MARKED.test(String(value))) as string,
  )?.[1]
const MARKED = /^(merged|plain|own|nobody) /

interface Place {
  name: string
  valuesIn(rows: readonly Row[]): unknown[]
  fitting(values: readonly unknown[]): unknown[]
}

/** What a statement compares its n-th argument with. */
function placeOf(original: string, n: number, type: string): Place {
  const only = (value: unknown): Place => ({ name: '', valuesIn: () => [], fitting: () => [value] })
  if (n === 1) return only(mine.id)
  const place = `\\$${n}(?!\\d)`
  if (new RegExp(`${place}(?:::\\w+)? is null`).test(original)) return only(null)
  if (new RegExp(`${place}::text::timestamptz`).test(original)) return only('-infinity')
  // What a list goes on behind.
  if (new RegExp(`> \\(?\\s*coalesce\\((?:split_part\\()?${place}`).test(original)) return only(null)
  if (new RegExp(`<= ${place}::timestamptz`).test(original)) return only(new Date('2100-01-01T00:00:00Z'))
  if (new RegExp(`>= ${place}`).test(original) && type === 'timestamptz') return only(new Date(0))
  const recorded = recordedAs(original, place)
  if (recorded) {
    const recordsOf = (rows: readonly Row[]) =>
      rows.map((row) => Object.fromEntries(recorded.map((name) => [name, row[name]])))
    return {
      name: '',
      valuesIn: (rows) => [JSON.stringify(recordsOf(rows))],
      fitting: (values) => [...values],
    }
  }
  const kind = new RegExp(`'(\\w+)', ${place}`).exec(original)?.[1]
  const column = new RegExp(
    `(\\w+)(?:::text)?\\)* (?:=|is not distinct from|in) (?:(?:any ?)?\\()?(?:\\w+\\()*${place}`,
  ).exec(original)?.[1]
  const name = column ?? unnestedAs(original, place) ?? ''
  if (/^\d+$/.test(name)) return only(Number(name))
  // Functions are given lists of subjects without a name; some statements name one themselves.
  const isSubject =
    /(^|_)(subject|customer)$/.test(name) ||
    (type === '_int4' && !name) ||
    new RegExp(`subjects_of_person\\(\\$1, ${place}|${place}::integer as subject\\b`).test(original)
  const valuesOf = (row: Row) =>
    isSubject ? SUBJECTS.map((each) => row[each]) : [kind && row.kind === kind ? row.value : row[name]]
  const valuesIn = (rows: readonly Row[]) =>
    rows
      .flatMap(valuesOf)
      .filter((value) => value !== undefined && value !== null)
      .map((value) => (/text$/.test(type) && typeof value === 'object' ? JSON.stringify(value) : value))
  return { name, valuesIn, fitting: (values) => fitting(type, [...new Set(values)]) }
}

/** Each with each where these are few, else side by side. */
function combined(candidates: readonly unknown[][]): unknown[][] {
  if (candidates.reduce((product, { length }) => product * length, 1) <= 32)
    return candidates.reduce<unknown[][]>(
      (lists, values) => lists.flatMap((list) => values.map((value) => [...list, value])),
      [[]],
    )
  const most = Math.max(...candidates.map(({ length }) => length))
  return Array.from({ length: most }, (_, at) => candidates.map((values) => values[at % values.length]))
}

const SUBJECTS = ['subject', 'customer', 'from_subject', 'to_subject']

/** What `unnest($2::text[], $3::text[]) as given (kind, value)` calls its argument. */
function unnestedAs(original: string, place: string): string | undefined {
  const unnest = new RegExp(`unnest\\(([^)]*${place}[^)]*)\\)[\\w\\s]*? as \\w+ \\(([^)]*)\\)`).exec(original)
  const at = unnest?.[1]?.split(',').findIndex((argument) => new RegExp(place).test(argument)) ?? -1
  return unnest?.[2]?.split(',')[at]?.trim()
}

/** The columns of `json_to_recordset($2::text::json) as given (subject integer, email text)`. */
const recordedAs = (original: string, place: string): string[] | undefined =>
  new RegExp(`json_to_recordset\\(${place}::text::json\\) as \\w+ \\(([^)]*)\\)`)
    .exec(original)?.[1]
    ?.split(',')
    .map((column) => column.trim().split(' ')[0] ?? '')

/** With a new text for the first of what is changed where it is given, and nothing for the rest. */
function changing(original: string, args: readonly unknown[]): unknown[] {
  const given = args.map((_, at) => new RegExp(`coalesce\\(\\$${at + 1}\\b`).test(original))
  const first = given.findIndex((is, at) => is && typeof args[at] === 'string')
  return args.map((value, at) => (at === first ? 'changed' : given[at] ? null : value))
}

const UUID = /^[\da-f-]{36}$/
const uuids = [...theirs.values()]
  .flatMap((rows) => rows.map((row) => String(row.id)))
  .filter((id) => UUID.test(id))

/** An infinite time comes as an invalid Date. */
const isOf = (type: string, value: unknown) =>
  type.endsWith('uuid')
    ? UUID.test(String(value))
    : !(value instanceof Date && Number.isNaN(value.getTime())) &&
      !(type.startsWith('timestamp') && Number.isNaN(Date.parse(String(value))))

function fitting(type: string, found: readonly unknown[]): unknown[] {
  const values = found.filter((value) => isOf(type, value))
  if (type.startsWith('_')) {
    const every = type === '_uuid' ? uuids : uuids.flatMap(() => fitting(type.slice(1), []).slice(0, 1))
    const listed = values.length > 0 ? values : every
    return [listed.map((value) => (value instanceof Date ? value.toISOString() : value))]
  }
  if (values.length > 0) return [...values]
  if (type === 'uuid') return uuids
  if (/^(int|numeric|float)/.test(type)) return [60]
  if (type.startsWith('timestamp') || type === 'date') return [new Date()]
  if (type === 'bytea') return [Buffer.alloc(32)]
  return [type.startsWith('json') ? {} : '[]']
}

/** The mutants that do to the other brand, or show of it, what the original does not. */
async function differing(role: Role, mutants: readonly Mutant[], args: unknown[]): Promise<Mutant[]> {
  const [first] = mutants
  if (!first) return []
  return await as(role, mine, async () => {
    const intact = await effect(first.original, args)
    const found: Mutant[] = []
    for (const mutant of mutants) if ((await effect(mutant.mutated, args)) !== intact) found.push(mutant)
    return found
  })
}

/** Those that no arguments tell from the original. Some need a row of each brand: they follow one to the other. */
async function unnoticedOf(original: string, ofIt: readonly Mutant[]): Promise<readonly Mutant[]> {
  let waiting = ofIt
  for (const rows of [theirs, everyones])
    for (const args of await argumentsFor(original, rows)) {
      for (const { name } of await differing('recoup_app', waiting, args))
        t.fail(`${name} ${JSON.stringify(args)}`)
      const noticed = await differing('recoup_pipeline', waiting, args)
      waiting = waiting.filter((mutant) => !noticed.includes(mutant))
      if (waiting.length === 0) return []
    }
  return waiting
}

t.test('a statement that lost its filter is held by the wall, and would be noticed without it', async (t) => {
  t.ok(mutants.length > 30, `${mutants.length} filters`)
  const unnoticed: string[] = []
  for (const [original, ofIt] of Map.groupBy(mutants, (mutant) => mutant.original))
    unnoticed.push(...(await unnoticedOf(original, ofIt)).map(({ name }) => name))
  // Some only say whether there is a row, add one of their own brand, or join what another filter keeps apart.
  t.comment(`not noticed: ${unnoticed.join(', ')}`)
  t.ok(unnoticed.length < mutants.length / 4, `${unnoticed.length} of ${mutants.length} unnoticed`)
})
