import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { hashOf } from '../src/store/hash.ts'

const folder = t.testdir()

for (const [what, size] of [
  ['an empty file', 0],
  ['a short file', 100],
  ['a file of several pieces', (5 << 20) + 7],
  ['a long file, on a thread of its own', (65 << 20) + 7],
] as const)
  t.test(`${what} has the hash of its bytes`, async (t) => {
    const bytes = Buffer.alloc(size, 'a piece that is no power of two long')
    const path = join(folder, `${size}`)
    await writeFile(path, bytes)
    t.same(await hashOf(path, size), createHash('sha256').update(bytes).digest())
  })

t.test('a long file that is not there fails', async (t) => {
  await t.rejects(hashOf(join(folder, 'none'), 1e9), { code: 'ENOENT' })
})
