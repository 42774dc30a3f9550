import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { eraseDue } from '../src/connect/erase/due.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { backup } from '../src/lake/backup.ts'
import { listedFiles } from '../src/lake/lost.ts'
import { Outrun } from '../src/lake/manifest.ts'
import { openServed, type Served, type ServedOptions } from '../src/lake/served.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Published } from '../src/op.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { eventually } from './fixtures/eventually.ts'
import { lake, tick } from './fixtures/lake.ts'

setLogLevel('error')

const pipeline = await lake(t)

const served = (t: Test, options?: ServedOptions): Served => {
  const opened = openServed(pipeline, options)
  t.teardown(() => opened.close())
  return opened
}

let customers = 0
/** The next generation: one more customer. */
async function publish({ id }: Brand): Promise<void> {
  const email = `customer-${++customers}@example.com`
  await pipeline.postgres.sql`
    insert into customer (brand_id, subject, id, provenance, email)
    values (${id}, ${customers}, ${email}, 'server', ${email})`
  await tick(pipeline)
  await refreshBrand(pipeline, id)
}

async function publishedBrand(generations: number): Promise<Brand> {
  const brand = await newBrand(pipeline)
  for (let n = 0; n < generations; n++) await publish(brand)
  return brand
}

const reader = async (
  files: Served,
  { id }: Brand,
  generation?: number,
  signal?: AbortSignal,
): Promise<Published> => {
  const found = await files.reader(id, generation, { signal })
  if (!found) throw new Error('nothing is published')
  return found
}

const count = async (published: Published) =>
  (await published.rows<{ count: number }>('select count(*) as count from customers'))[0]?.count

/** DuckDB 1.5.6 fails to plan it, with an internal error. */
const BREAKING = `
  select n from range(2) as a (n) group by n
  having (select count(*) from range(2) as b (m) where try(a.n + a.n) > 0) > 0`

/** Files of published results that this process has open, of a brand. */
const open = ({ id }: Brand): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.includes(`/brands/${id}/served-`) ? [path] : []
    } catch {
      return []
    }
  })

/** Not those of rows: each is opened once more, to be read ahead. */
const tables = (brand: Brand): number => open(brand).filter((path) => path.endsWith('.duckdb')).length

/** How many files with tables one generation has. */
async function tablesOf(brand: Brand, generation: number): Promise<number> {
  const files = openServed(pipeline)
  await count(await reader(files, brand, generation))
  const found = tables(brand)
  await files.close()
  return found
}

t.test('where no folder for what spills can be made, what fits into memory is read', async (t) => {
  const brand = await publishedBrand(1)
  const files = served(t)
  const published = await reader(files, brand)
  const scratch = join(pipeline.lakeDir, 'tmp')
  rmSync(scratch, { recursive: true, force: true })
  writeFileSync(scratch, '')
  t.equal(await count(published), 1)
  await files.close()
  const again = await reader(served(t), brand)
  t.equal(await count(again).finally(() => rmSync(scratch)), 1)
})

t.test('each has a folder of its own for what does not fit into memory, as long as it is open', async (t) => {
  const files = served(t)
  const folders = []
  for (const brand of [await publishedBrand(1), await publishedBrand(1)]) {
    const asked = `select current_setting('temp_directory') as folder`
    const [row] = await (await reader(files, brand)).rows<{ folder: string }>(asked)
    folders.push(String(row?.folder))
  }
  t.equal(new Set(folders).size, 2)
  t.same(folders.map(existsSync), [true, true])
  await files.close()
  t.same(folders.map(existsSync), [false, false])
})

t.test('after an internal error of DuckDB the tables are opened anew, the others closed', async (t) => {
  const found = await reader(served(t), await publishedBrand(1))
  const folder = async () =>
    String((await found.rows(`select current_setting('temp_directory') as folder`))[0]?.folder)
  const before = await folder()
  await t.rejects(found.rows(BREAKING), { message: /^INTERNAL Error/ })
  t.not(await folder(), before)
  t.equal(await count(found), 1)
  await eventually(async () => !existsSync(before))
})

t.test('an earlier generation that nobody reads any more is closed, the newest one is not', async (t) => {
  const brand = await publishedBrand(1)
  const files = served(t)
  const first = await reader(files, brand)
  await publish(brand)
  const second = await reader(files, brand)
  const [ofFirst, ofSecond] = [await tablesOf(brand, 1), await tablesOf(brand, 2)]
  await Promise.all([first, second].map(count))
  const left: number[] = []
  for (let n = 0; n < 3; n++) {
    await files.sweep()
    left.push(tables(brand))
  }
  t.same(left, [ofFirst + ofSecond, ofSecond, ofSecond], 'it was read before the first time')
  t.same(await Promise.all([first, second].map(count)), [1, 2], 'who has it goes on reading it')
})

t.test('of one brand at most three generations are open', async (t) => {
  const brand = await publishedBrand(5)
  const each: number[] = []
  for (let generation = 1; generation <= 5; generation++) each.push(await tablesOf(brand, generation))
  const files = served(t)
  const readers: Published[] = []
  for (const n of each.keys()) {
    const published = await reader(files, brand, n + 1)
    await count(published)
    readers.push(published)
  }
  const ofLast = each.slice(2).reduce((sum, one) => sum + one, 0)
  t.equal(tables(brand), ofLast)
  t.same(await Promise.all(readers.map(count)), [1, 2, 3, 4, 5], 'walks in all of them go on')
})

t.test(
  'tables that were read longest ago are closed where those of all brands would take too much',
  async (t) => {
    const brands = [await publishedBrand(1), await publishedBrand(1)]
    const openAfter = async (memoryMb: number) => {
      const files = served(t, { memoryMb })
      for (const brand of brands) await count(await reader(files, brand))
      const found = brands.map((brand) => tables(brand) > 0)
      await files.close()
      return found
    }
    t.same(await openAfter(16), [false, true])
    t.same(await openAfter(64), [true, true])
  },
)

t.test('what is asked for somebody who is gone is not read', async (t) => {
  const brand = await publishedBrand(1)
  const files = served(t)
  const gone = new AbortController()
  const found = await reader(files, brand, undefined, gone.signal)
  const slow = found.rows('select sum(a.range) from range(100000) as a, range(100000) as b')
  const waiting = count(found)
  gone.abort(new Error('gone'))
  await t.rejects(slow, { message: 'gone' })
  await t.rejects(waiting, { message: 'gone' })
  t.equal(await count(await reader(files, brand)), 1)
})

t.test('what takes more memory than there is says so', async (t) => {
  const published = await reader(served(t), await publishedBrand(1))
  const tooMuch = published.rows('select len(list(range)) as length from range(30000000)')
  await t.rejects(tooMuch, {
    code: 'unavailable',
    message: /^It takes more memory than one request may have/,
  })
})

t.test('beyond so many statements that wait the next one is refused until some were answered', async (t) => {
  const brand = await publishedBrand(1)
  const found = await reader(served(t), brand)
  const asked = await Promise.allSettled(Array.from({ length: 501 }, () => count(found)))
  t.same(
    asked.flatMap((one, n) => (one.status === 'rejected' ? [[n, one.reason.code, one.reason.headers]] : [])),
    [[500, 'unavailable', { 'retry-after': '2' }]],
  )
  t.equal(await count(found), 1)
})

t.test('after an erasure no file of before is open, also of a brand that nobody reads', async (t) => {
  const brand = await publishedBrand(2)
  const files = served(t)
  await count(await reader(files, brand, 1))
  await count(await reader(files, brand))
  const before = open(brand)
  t.ok(before.length > 0)
  const email = `customer-${customers}@example.com`
  await pipeline.postgres.forBrand(brand.id).tx((tx) => requestErasure(tx, { email }, 'a test'))
  await eraseDue(pipeline, { patience: { readersMs: 0, writersMs: 0 } })
  await files.sweep()
  t.same(open(brand), [])
})

for (const [what, lose] of [
  ['gone', (path: string) => rmSync(path)],
  ['damaged', (path: string) => writeFileSync(path, readFileSync(path).fill(255))],
] as const)
  t.test(`a reader that finds files ${what} has the next refresh make all of the brand anew`, async (t) => {
    const brand = await publishedBrand(1)
    for (const { relation, path } of await listedFiles(pipeline, brand.id))
      if (relation === 'served') lose(join(pipeline.lakeDir, path))
    await t.rejects(reader(served(t), brand))
    const { sql } = pipeline.postgres
    const isMadeAnew = async () => {
      const [row] = await sql`
        select results ->> 'recipe' is null as anew from lake_brand where brand_id = ${brand.id}`
      return row?.anew === true
    }
    await eventually(isMadeAnew)
    const again = (error: unknown) => {
      if (!(error instanceof Outrun)) throw error
      return refreshBrand(pipeline, brand.id)
    }
    await refreshBrand(pipeline, brand.id).catch(again)
    t.equal(await count(await reader(served(t), brand)), 1)
  })

t.test('a backup that finds a published file rotten names the refresh after which it is whole', async (t) => {
  const own = await lake(t)
  const brand = await newBrand(own)
  await refreshBrand(own, brand.id)
  const [rows] = (await listedFiles(own, brand.id)).filter(({ path }) => path.endsWith('.rows'))
  const path = join(own.lakeDir, rows?.path ?? '')
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
  writeFileSync(path, bytes)
  const folder = join(t.testdir(), 'backup')
  await t.rejects(backup(own, folder), {
    code: 'conflict',
    message: `${path} is damaged: its SHA-256 differs. recoup refresh --brand ${brand.id} makes it anew: run that, then back up again.`,
  })
  await refreshBrand(own, brand.id)
  t.match(await backup(own, folder), { files: [{ path: /\.duckdb$/ }, { path: /\.rows$/ }] })
})

t.test('files that were lost while the lake was not there are looked for again a minute later', async (t) => {
  const brand = await publishedBrand(1)
  const { sql, pipeline: statements } = pipeline.postgres
  const asked: string[] = []
  const one: typeof statements.one = (name, args) => {
    asked.push(name)
    return statements.one(name, args)
  }
  const postgres = { ...pipeline.postgres, pipeline: { ...statements, one } }
  const files = openServed({ ...pipeline, postgres })
  t.teardown(() => files.close())
  for (const { relation, path } of await listedFiles(pipeline, brand.id))
    if (relation === 'served') rmSync(join(pipeline.lakeDir, path))
  const owner = join(pipeline.lakeDir, 'service-id')
  const id = readFileSync(owner, 'utf8')
  writeFileSync(owner, 'another')
  await t.rejects(reader(files, brand))
  await eventually(async () => asked.includes('lake_known_by'))
  for (let n = 0; n < 20; n++) await sql`select 1`
  writeFileSync(owner, id)
  const now = performance.now.bind(performance)
  mock.method(performance, 'now', () => now() + 61_000)
  t.teardown(() => mock.restoreAll())
  await t.rejects(reader(files, brand))
  await eventually(async () => {
    const [row] = await sql`
      select results ->> 'recipe' is null as anew from lake_brand where brand_id = ${brand.id}`
    return row?.anew === true
  })
})
