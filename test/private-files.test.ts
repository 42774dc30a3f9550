import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { importFile } from '../src/connect/import/import.ts'
import { rejectsPath } from '../src/connect/import/rejects.ts'
import { brandFolder, writeLakeFile } from '../src/store/lake.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake } from './fixtures/lake.ts'

process.umask(0o022)
const modeOf = (path: string) => statSync(path).mode & 0o777

t.test('refused rows of an import are for their owner alone', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  const file = join(t.testdir(), 'customers.csv')
  writeFileSync(file, 'external_id,email\n7,ann at example\n')
  const { rejects_file: path } = await importFile({ pipeline, brand, kind: 'customers', file })
  t.equal(modeOf(String(path)), 0o600)
  chmodSync(String(path), 0o644)
  t.equal((await importFile({ pipeline, brand, kind: 'customers', file })).rejects_file, path)
  t.equal(modeOf(String(path)), 0o600, 'also in place of a file that all may read')
})

t.test('beside a file where nothing can be written they go into a folder of no known name', async (t) => {
  const path = () =>
    rejectsPath({ file: '/nowhere/a.csv', brand: { shop_domain: 'a.b' }, kind: 'orders' }, undefined, [])
  const [one, other] = [path(), path()]
  t.equal(basename(one), 'a.csv.a.b.orders.rejects.ndjson')
  t.equal(dirname(dirname(one)), tmpdir())
  t.not(one, other)
})

t.test('folders of the lake are for their owner alone, in whatever folder', async (t) => {
  const lakeDir = t.testdir()
  chmodSync(lakeDir, 0o755)
  const write = async (path: string) => writeFileSync(path, '')
  await writeLakeFile({ lakeDir }, brandFolder('one'), 'events', write)
  for (const path of ['brands', 'brands/one']) t.equal(modeOf(join(lakeDir, path)), 0o700, path)
})

t.test('folders of a lake that all may read are closed', async (t) => {
  const { url } = await database(t)
  const dataDir = t.testdir()
  const lakeDir = join(dataDir, 'lake')
  for (const part of ['brands', 'staging']) mkdirSync(join(lakeDir, part), { recursive: true, mode: 0o755 })
  const app = await openApp(readConfig({ DATABASE_URL: url, DATA_DIR: dataDir }))
  await app.close()
  for (const part of ['brands', 'staging']) t.equal(modeOf(join(lakeDir, part)), 0o700, part)
})
