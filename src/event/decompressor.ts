import { createZstdDecompress } from 'node:zlib'
import { Frames } from './frames.ts'

/** What a thread makes of a frame before it asks for more room: a batch in one piece or two, where Node's are of 16 KB. */
export const CHUNK_BYTES = 1 << 20

/** Decompresses one zstd frame at a time with one context for all. */
export class Decompressor {
  readonly #frames = new Frames(() => createZstdDecompress({ chunkSize: CHUNK_BYTES }))

  /** What a frame holds, in pieces. The next call must wait for this one. Of a frame that ends early, what there is. */
  decompress(frame: Buffer): Promise<Buffer[]> {
    return this.#frames.pass(frame)
  }

  close(): void {
    this.#frames.close()
  }
}
