import fs, { readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { mock } from 'node:test'
import t from 'tap'
import { backup } from '../src/lake/backup.ts'
import { restore } from '../src/lake/restore.ts'
import { brandFolder, writeLakeFile } from '../src/store/lake.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { lake, logBatch, tick } from './fixtures/lake.ts'

/** Paths that are synced to disk from here on. */
const synced: string[] = []
const note = (fd: number) => {
  synced.push(readlinkSync(`/proc/self/fd/${fd}`))
}
const file = await open('/dev/null')
const handles = Object.getPrototypeOf(file)
await file.close()
mock.method(handles, 'sync', async function (this: { fd: number }) {
  note(this.fd)
})
mock.method(fs, 'fsyncSync', note)
syncBuiltinESMExports()
t.beforeEach(() => {
  synced.length = 0
})

t.test('the first file of a brand has the name of its folder on disk, too', async (t) => {
  const lakeDir = t.testdir()
  const write = async (path: string) => writeFileSync(path, '')
  await writeLakeFile({ lakeDir }, brandFolder('one'), 'events', write)
  for (const path of ['', 'brands', 'brands/one']) t.ok(synced.includes(join(lakeDir, path)), path)
})

t.test('the folders of a backup and of a restored lake are on disk with what is in them', async (t) => {
  const pipeline = await lake(t)
  const brand = await newBrand(pipeline)
  await logBatch(pipeline.postgres.sql, [{ brand_id: brand.id, anonymous_id: 'v' }])
  await tick(pipeline)
  const above = t.testdir()
  const folder = join(above, 'backups', 'monday')
  await backup(pipeline, folder)
  for (const path of [above, dirname(folder), ...foldersOf(folder)]) t.ok(synced.includes(path), path)
  t.equal(synced.at(-1), folder, 'last the one that says that the backup is whole')

  const target = await database(t)
  await target.postgres.sql`update lake_state set service_id = gen_random_uuid()`
  const lakeDir = join(above, 'lake')
  await restore(target.url, lakeDir, folder)
  for (const path of foldersOf(lakeDir)) t.ok(synced.includes(path), path)
})

const foldersOf = (path: string): string[] => [
  path,
  ...readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((one) => statSync(one).isDirectory()),
]
