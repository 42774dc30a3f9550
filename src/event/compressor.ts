import { constants, createZstdCompress, type ZstdCompress } from 'node:zlib'

/** Of the output buffer that the stream keeps until it is full; a batch at its end comes in two pieces. */
const CHUNK_BYTES = 2 << 20

/**
 * Compresses one batch at a time, each to a zstd frame of its own, with one context for all. A context per batch, as
 * zstdCompress makes it, took twice the time and, since V8 counts its memory, a garbage collection every 60 ms.
 */
export class Compressor {
  #stream: ZstdCompress | undefined
  #parts: Buffer[] = []
  #joined = Buffer.alloc(0)
  #failed: (error: Error) => void = () => {}

  /** One frame of all the buffers, which it reads during the call only. The next call must wait for this one. */
  compress(buffers: readonly Buffer[]): Promise<Buffer> {
    const lines = this.#join(buffers)
    return new Promise((resolve, reject) => {
      this.#stream ??= this.#open()
      this.#failed = reject
      this.#stream.write(lines, () => {
        const [first, ...others] = this.#parts
        this.#parts = []
        resolve(first && others.length === 0 ? first : Buffer.concat(first ? [first, ...others] : []))
      })
    })
  }

  close(): void {
    this.#stream?.destroy()
  }

  #open(): ZstdCompress {
    const stream = createZstdCompress({
      params: { [constants.ZSTD_c_compressionLevel]: 1 },
      chunkSize: CHUNK_BYTES,
      // Each write is a whole frame: one task for a thread instead of two, and read from where it is, without a copy.
      flush: constants.ZSTD_e_end,
    })
    stream.on('data', (part: Buffer) => this.#parts.push(part))
    stream.on('error', (error) => {
      this.#stream = undefined
      this.#parts = []
      this.#failed(error)
    })
    return stream
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
