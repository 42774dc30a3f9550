import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

const LINE_END = 10
const CHUNK_BYTES = 1 << 20
const EMPTY_OBJECT = Buffer.from('{}\n')

/** Lines of a file, each with its end, as many at once as come with one read. */
export async function* linesOf(path: string): AsyncGenerator<Buffer[]> {
  let begun: Buffer[] = []
  for await (const part of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    const chunk = part as Buffer
    const lines: Buffer[] = []
    let from = 0
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      lines.push(Buffer.concat([...begun, chunk.subarray(from, end + 1)]))
      begun = []
      from = end + 1
    }
    if (from < chunk.length) begun.push(chunk.subarray(from))
    yield lines
  }
  if (begun.length) yield [Buffer.concat(begun)]
}

/** Lines of an NDJSON file by their numbers from 0. Its text may be longer than a string or the heap can hold. */
export class LineFile {
  readonly path: string
  /** Where each line begins, and the end. */
  readonly #starts: readonly number[]

  private constructor(path: string, starts: readonly number[]) {
    this.path = path
    this.#starts = starts
  }

  static async read(path: string): Promise<LineFile> {
    const starts = [0]
    let read = 0
    for await (const part of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
      const chunk = part as Buffer
      for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, end + 1))
        starts.push(read + end + 1)
      read += chunk.length
    }
    // A last line without an end counts as if it had one.
    if (read > lastOf(starts)) starts.push(read + 1)
    return new LineFile(path, starts)
  }

  get lines(): number {
    return this.#starts.length - 1
  }

  /** Of a line, with its end. */
  bytes(line: number): number {
    return this.#start(line + 1) - this.#start(line)
  }

  /** Lines without their ends. */
  async texts(lines: readonly number[]): Promise<Buffer[]> {
    const file = await open(this.path)
    try {
      const texts: Buffer[] = []
      for (const line of lines) texts.push(await bytesAt(file, this.#start(line), this.bytes(line) - 1))
      return texts
    } finally {
      await file.close()
    }
  }

  /** Writes lines from `low` until before `high` to another file, and `instead` for those that are left out. */
  async copy(
    to: string,
    low: number,
    high: number,
    leftOut: ReadonlySet<number> = new Set(),
    instead: Buffer = EMPTY_OBJECT,
  ): Promise<void> {
    const file = await open(this.path)
    try {
      await pipeline(this.#contents(file, low, high, leftOut, instead), createWriteStream(to))
    } finally {
      await file.close()
    }
  }

  async *#contents(
    file: FileHandle,
    low: number,
    high: number,
    leftOut: ReadonlySet<number>,
    instead: Buffer,
  ) {
    let from = low
    for (const line of [...leftOut].filter((n) => n >= low && n < high).sort((a, b) => a - b)) {
      yield* this.#parts(file, from, line)
      yield instead
      from = line + 1
    }
    yield* this.#parts(file, from, high)
  }

  async *#parts(file: FileHandle, low: number, high: number) {
    const end = this.#start(high)
    for (let at = this.#start(low); at < end; at += CHUNK_BYTES)
      yield await bytesAt(file, at, Math.min(CHUNK_BYTES, end - at))
  }

  #start(line: number): number {
    return this.#starts[line] ?? lastOf(this.#starts)
  }
}

const lastOf = (starts: readonly number[]) => starts[starts.length - 1] ?? 0

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
