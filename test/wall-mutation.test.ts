import postgres from 'postgres'
import t from 'tap'
import type { Brand } from '../src/op.ts'
import { sqlFiles, statement } from '../src/store/sqlfile.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { brandTables, stateOf as everything, fillBrand } from './fixtures/rows.ts'
import { noting, replacing } from './fixtures/statements.ts'
import { CELLS, type Cell, tellingCells, world } from './fixtures/tenancy.ts'
import { unfiltered } from './fixtures/unfiltered.ts'

/**
 * The two walls between brands, each without the other: every brand table is read and written as the app without a
 * filter, and every filter of a named statement is dropped in turn. The role of the pipeline, which passes the second
 * wall, shows that each of these would be noticed.
 */
t.capture(process.stderr, 'write')
const db = await database(t)
const { sql } = db.postgres
const mine = await makeBrand(db, { features: ['cdp'] })
const other = await makeBrand(db, { features: ['cdp'] })
for (const brand of [mine, other]) await fillBrand(db, brand)
const tables = await brandTables(sql)

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

/** What a statement answers, or the code of its error, and what is left of the other brand after it; then undone. */
async function effect(text: string, args: unknown[]): Promise<{ answer: string; others: string }> {
  await run('savepoint before')
  try {
    const rows = await run(text, args)
    const answer = JSON.stringify([rows.count, ...rows.map((row) => JSON.stringify(row)).sort()])
    if (!writes(text)) return { answer, others: '' }
    await run('set local role recoup_pipeline')
    return { answer, others: await stateOf(other) }
  } catch (error) {
    const { code } = error as { code?: string }
    if (!code) throw error
    return { answer: `error ${code}`, others: '' }
  } finally {
    await run('rollback to savepoint before')
  }
}

const writes = (text: string) => /\b(insert|update|delete|call)\b/i.test(text)

/** Of all rows of a brand. */
async function stateOf(brand: Brand): Promise<string> {
  const each = tables.map(
    ({ name, column }) =>
      `select md5(coalesce(string_agg(r::text, ',' order by r::text), '')) from ${name} as r where ${column} = '${brand.id}'`,
  )
  return (await run(each.join(' union all '))).map((row) => row.md5).join()
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
const rowsByTable = new Map<string, Record<string, unknown>[]>()
for (const { name, column } of tables)
  rowsByTable.set(name, await sql`select * from ${sql(name)} where ${sql(column)} = ${other.id}`)

/** Arguments that fit rows of the other brand, so that nothing but the brand keeps them away; one list per attempt. */
async function argumentsFor({ original }: Mutant): Promise<unknown[][]> {
  const { types } = await single.unsafe(original).describe()
  const rows = [...rowsByTable].filter(([table]) => original.includes(table)).flatMap(([, rows]) => rows)
  const candidates = types.map((oid, index) => {
    if (index === 0) return [mine.id]
    const place = `\\$${index + 1}(?!\\d)`
    if (new RegExp(`${place}(?:::\\w+)? is null`).test(original)) return [null]
    const column = new RegExp(`(\\w+)\\)* = (?:any\\()?(?:\\w+\\()*${place}`).exec(original)?.[1] ?? ''
    const values = rows.map((row) => row[column]).filter((value) => value !== undefined && value !== null)
    return fitting(TYPES.get(oid) ?? '', [...new Set(values)])
  })
  const most = Math.max(...candidates.map(({ length }) => length))
  return Array.from({ length: most }, (_, at) => candidates.map((values) => values[at % values.length]))
}

const uuids = [...rowsByTable.values()]
  .flatMap((rows) => rows.map((row) => String(row.id)))
  .filter((id) => /^[\da-f-]{36}$/.test(id))

function fitting(type: string, values: unknown[]): unknown[] {
  if (type.startsWith('_')) {
    if (values.length > 0) return [values]
    return [type === '_uuid' ? uuids : uuids.map(() => fitting(type.slice(1), [])[0])]
  }
  if (values.length > 0) return values
  if (type === 'uuid') return uuids
  if (/^(int|numeric|float)/.test(type)) return [60]
  if (type.startsWith('timestamp')) return [new Date()]
  if (type === 'bytea') return [Buffer.alloc(32)]
  return [type.startsWith('json') ? {} : '[]']
}

/** Whether the mutant does to the other brand, or shows of it, what the original does not. */
async function differs(role: Role, { original, mutated }: Mutant, args: unknown[]): Promise<boolean> {
  return await as(role, mine, async () => {
    const [intact, broken] = [await effect(original, args), await effect(mutated, args)]
    return JSON.stringify(intact) !== JSON.stringify(broken)
  })
}

t.test('a statement that lost its filter is held by the wall, and would be noticed without it', async (t) => {
  t.ok(mutants.length > 30, `${mutants.length} filters`)
  const unnoticed: string[] = []
  for (const mutant of mutants) {
    let noticed = false
    for (const args of await argumentsFor(mutant)) {
      if (await differs('recoup_app', mutant, args)) t.fail(`${mutant.name} ${JSON.stringify(args)}`)
      noticed = await differs('recoup_pipeline', mutant, args)
      if (noticed) break
    }
    if (!noticed) unnoticed.push(mutant.name)
  }
  // Some only say whether there is a row, add one of their own brand, or join what another filter keeps apart.
  t.comment(`not noticed: ${unnoticed.join(', ')}`)
  t.ok(unnoticed.length < mutants.length / 2, `${unnoticed.length} of ${mutants.length} unnoticed`)
})

t.test(
  'an id of another brand tells nothing without a filter, but for a role that passes the wall',
  async (t) => {
    let here = await world(t)
    const { postgres } = here.db
    const reached = new Map<string, Set<Cell>>()
    for (const cell of CELLS) {
      const note = (name: string) => reached.set(name, (reached.get(name) ?? new Set()).add(cell))
      await tellingCells(t, here, [cell], {
        most: 1,
        open: (brandId) => noting(postgres.forBrand(brandId), note),
      })
    }
    t.ok(reached.size > 2)
    let before = await everything(postgres.sql)
    let expected = 0
    const silent: string[] = []
    for (const [name, cells] of reached) {
      const original = statement('postgres', name)
      for (const mutated of unfiltered(original)) {
        const texts = new Map([[name, mutated]])
        const { postgres } = here.db
        const open = replacing(t, postgres, 'recoup_app', texts)
        t.same(await tellingCells(t, here, [...cells], { most: 1, open }), [], `${name} as the app`)
        t.same(await everything(postgres.sql), before)

        const past = replacing(t, postgres, 'recoup_pipeline', texts)
        const telling = await tellingCells(t, here, [...cells], { most: 1, open: past })
        const wrote = JSON.stringify(await everything(postgres.sql)) !== JSON.stringify(before)
        // It cannot be undone.
        if (wrote) {
          here = await world(t)
          before = await everything(here.db.postgres.sql)
        }
        // Others lock a brand, or look at all of its rows.
        if (!/(?<!brand_)\bid = \$[2-9]|_prefix = \$/.test(original)) continue
        expected++
        if (telling.length === 0 && !wrote) silent.push(name)
      }
    }
    // Of two ids only one is foreign at a time, and a second statement may hold where the first one leaks.
    t.comment(`silent past the wall: ${silent.join(', ')}`)
    t.ok(expected > 2 && silent.length < expected / 2, `${silent.length} of ${expected} are silent`)
  },
)
