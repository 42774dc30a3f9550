import { constants, createZstdCompress } from 'node:zlib'
import { Frames } from './frames.ts'

/** Of the output buffer that the stream keeps until it is full; a batch at its end comes in two pieces. */
const CHUNK_BYTES = 2 << 20

/**
 * Compresses one batch at a time, each to a zstd frame of its own, with one context for all: V8 counts the memory of a
 * context, and one per batch made it collect garbage every 60 ms.
 */
export class Compressor {
  readonly #frames = new Frames(() =>
    createZstdCompress({
      params: { [constants.ZSTD_c_compressionLevel]: 1 },
      chunkSize: CHUNK_BYTES,
      // Each write is a whole frame: one task for a thread instead of two, and read from where it is, without a copy.
      flush: constants.ZSTD_e_end,
    }),
  )
  #joined = Buffer.alloc(0)

  /** One frame of all the buffers, which it reads during the call only. The next call must wait for this one. */
  async compress(buffers: readonly Buffer[]): Promise<Buffer> {
    const [first, ...others] = await this.#frames.pass(this.#join(buffers))
    return first && others.length === 0 ? first : Buffer.concat(first ? [first, ...others] : [])
  }

  close(): void {
    this.#frames.close()
  }

  /** In one buffer that is kept for the next call. */
  #join(buffers: readonly Buffer[]): Buffer {
    const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
    if (this.#joined.length < length) this.#joined = Buffer.allocUnsafe(length)
    let at = 0
    for (const buffer of buffers) at += buffer.copy(this.#joined, at)
    return this.#joined.subarray(0, length)
  }
}
