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
  pass(input: Buffer): Promise<Buffer[]> {
    return new Promise((resolve, reject) => {
      this.#stream ??= this.#listen(this.#open())
      this.#failed = reject
      this.#stream.write(input, () => {
        resolve(this.#parts)
        this.#parts = []
      })
    })
  }

  close(): void {
    this.#stream?.destroy()
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
