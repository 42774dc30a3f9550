import type { ZstdCompress, ZstdDecompress } from 'node:zlib'

/**
 * Hands a zstd stream one piece of work at a time, so that one context serves all. A context each, as zstdCompress and
 * zstdDecompress make it, took twice the time and more.
 */
export class Frames {
  readonly #open: () => ZstdCompress | ZstdDecompress
  #stream: ZstdCompress | ZstdDecompress | undefined
  #parts: Buffer[] = []
  #failed: (error: Error) => void = () => {}

  constructor(open: () => ZstdCompress | ZstdDecompress) {
    this.#open = open
  }

  /** What the stream makes of the input, in pieces. The next call must wait for this one; after an error it begins anew. */
  async pass(input: Buffer): Promise<Buffer[]> {
    let left = input
    for (;;) {
      left = left.subarray(await this.#write(left))
      if (left.length === 0) break
      // Node ends a stream of decompressed bytes with the first frame of a write, and drops the others.
      this.close()
    }
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  close(): void {
    this.#stream?.destroy()
    this.#stream = undefined
  }

  /** Returns how many bytes of the input were read. */
  #write(input: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#stream ??= this.#listen(this.#open())
      this.#failed = reject
      const stream = this.#stream
      const before = stream.bytesWritten
      stream.write(input, () => resolve(stream.bytesWritten - before))
    })
  }

  #listen<Stream extends ZstdCompress | ZstdDecompress>(stream: Stream): Stream {
    stream.on('data', (part: Buffer) => this.#parts.push(part))
    stream.on('error', (error) => {
      this.#stream = undefined
      this.#parts = []
      this.#failed(error)
    })
    return stream
  }
}
