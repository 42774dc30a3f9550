import { createZstdDecompress, type ZstdDecompress } from 'node:zlib'

/** What a thread makes of a frame before it asks for more room: a batch in one piece or two. */
export const CHUNK_BYTES = 1 << 20

/**
 * Decompresses one zstd frame at a time with one context for all. A context per frame and pieces of 16 KB, as
 * zstdDecompress has them, took two to four times as long.
 */
export class Decompressor {
  #stream: ZstdDecompress | undefined
  #parts: Buffer[] = []
  #failed: (error: Error) => void = () => {}

  /** What a frame holds, in pieces. The next call must wait for this one. Of a frame that ends early, what there is. */
  decompress(frame: Buffer): Promise<Buffer[]> {
    return new Promise((resolve, reject) => {
      this.#stream ??= this.#open()
      this.#failed = reject
      this.#stream.write(frame, () => {
        resolve(this.#parts)
        this.#parts = []
      })
    })
  }

  close(): void {
    this.#stream?.destroy()
  }

  #open(): ZstdDecompress {
    const stream = createZstdDecompress({ chunkSize: CHUNK_BYTES })
    stream.on('data', (part: Buffer) => this.#parts.push(part))
    stream.on('error', (error) => {
      this.#stream = undefined
      this.#parts = []
      this.#failed(error)
    })
    return stream
  }
}
