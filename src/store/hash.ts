import { createHash } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

/** Read at once below the first size, on a thread of its own from the second on: a gigabyte takes a second. */
const SMALL_BYTES = 1 << 22
const LONG_BYTES = 1 << 26
const CHUNK_BYTES = 1 << 20

/** The SHA-256 of a file. */
export async function hashOf(path: string, size: number): Promise<Buffer> {
  if (size >= LONG_BYTES) return await hashBeside(path)
  if (size >= SMALL_BYTES) return await hashInChunks(path)
  return createHash('sha256')
    .update(await readFile(path))
    .digest()
}

export async function hashInChunks(path: string): Promise<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of chunksOf(path)) hash.update(chunk)
  return hash.digest()
}

async function hashBeside(path: string): Promise<Buffer> {
  const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), { workerData: path })
  const hashed = Promise.withResolvers<Buffer>()
  worker.once('message', (digest: Uint8Array) => hashed.resolve(Buffer.from(digest)))
  worker.once('error', hashed.reject)
  worker.once('exit', () => hashed.reject(new Error(`${path} could not be hashed`)))
  return await hashed.promise
}

/**
 * A file piece by piece, each only there until the next is asked for. Two buffers in turn, one filled while the other is
 * looked at: a stream's new ones keep the garbage collector busy.
 */
export async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  const handle = await open(path, 'r')
  let [here, next] = [Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)]
  let reading = handle.read(here)
  try {
    for (;;) {
      const { bytesRead } = await reading
      if (bytesRead === 0) return
      reading = handle.read(next)
      yield here.subarray(0, bytesRead)
      ;[here, next] = [next, here]
    }
  } finally {
    await reading.catch(() => {})
    await handle.close()
  }
}
