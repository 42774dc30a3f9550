import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { CHUNK_BYTES } from './decompressor.ts'

const decompress = promisify(zstdDecompress)
const compress = promisify(zstdCompress)
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** What stands where a line was: the others keep their numbers, which events without an id are named by. */
const ERASED = '{"erased":true}'

/** The lines of a record batch. */
export async function linesOf(payload: Buffer): Promise<string[]> {
  const lines = (await decompress(payload, { chunkSize: CHUNK_BYTES })).toString().split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** The batch without some of its lines, by their numbers from 0. `erased` counts those that were still there. */
export async function withoutLines(
  payload: Buffer,
  numbers: Iterable<number>,
): Promise<{ payload: Buffer; erased: number }> {
  const lines = await linesOf(payload)
  let erased = 0
  for (const number of numbers) {
    if (lines[number] === undefined || lines[number] === ERASED) continue
    lines[number] = ERASED
    erased++
  }
  return { payload: erased ? await compress(`${lines.join('\n')}\n`, FAST) : payload, erased }
}
