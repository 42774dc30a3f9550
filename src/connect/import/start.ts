import { createReadStream } from 'node:fs'
import type { Transform } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'

/** Enough for the names of all columns. */
const BYTES = 1 << 16

const DECOMPRESS: Readonly<Record<string, () => Transform>> = { gz: createGunzip, zst: createZstdDecompress }

/** Why a file of texts cannot be what its name says, by how it begins; undefined where it may be. */
export async function startProblem(
  path: string,
  compressed: string | undefined,
  isCsv: boolean,
): Promise<string | undefined> {
  const start = await startOf(path, compressed)
  if (start.length === 0) return 'is empty.'
  const mark = start.subarray(0, 4).toString('hex')
  if (mark.startsWith('1f8b')) return 'is compressed: its name must end in .gz.'
  if (mark === '28b52ffd') return 'is compressed: its name must end in .zst.'
  // In UTF-16 every other byte of Latin letters is 0.
  if (/^(fffe|feff)/.test(mark) || start.subarray(0, 64).includes(0)) return 'is UTF-16: save it as UTF-8.'
  if (!isCsv) return undefined
  const header = start.subarray(0, endOfLine(start))
  if (!isText(header)) return 'the names of its columns are not in UTF-8: save it as UTF-8.'
  const [separator] = /^\uFEFF?"?sep=.*/i.exec(header.toString()) ?? []
  return separator && `its first line, ${separator}, is for Excel alone: take it out.`
}

async function startOf(path: string, compressed = ''): Promise<Buffer> {
  const file = createReadStream(path, { highWaterMark: BYTES })
  const decompress = DECOMPRESS[compressed]?.()
  const read = decompress ? file.pipe(decompress) : file
  try {
    for await (const chunk of read) return (chunk as Buffer).subarray(0, BYTES)
    return Buffer.alloc(0)
  } finally {
    file.destroy()
  }
}

function endOfLine(start: Buffer): number {
  const ends = ['\n', '\r'].map((end) => start.indexOf(end)).filter((at) => at >= 0)
  return Math.min(...ends, start.length)
}

/** A letter of several bytes may be cut at the end. */
function isText(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}
