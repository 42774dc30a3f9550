import t from 'tap'
import { writeChunks } from '../src/connect/import/chunks.ts'
import type { ImportRun } from '../src/connect/import/file.ts'

t.test('a chunk that cannot be read while the one before is written fails the import after it', async (t) => {
  const answers = [
    async () => [{ chunks: 2, total: 2 }],
    async () => [{ rows: '[]', count: 1 }],
    async () => {
      throw new Error('unreadable')
    },
  ]
  let isWritten = false
  const run = { duck: { rows: () => answers.shift()?.() }, onProgress: () => {} } as never as ImportRun
  const written = writeChunks(run, 'import_product_chunk', async () => {
    await new Promise(setImmediate)
    isWritten = true
    return 1
  })
  await t.rejects(written, { message: 'unreadable' })
  t.ok(isWritten)
})
