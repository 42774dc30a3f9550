import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** What throws unless a compressed file is whole, by the end of its name. DuckDB reads what there is of one that is not. */
export const COMPRESSED: Readonly<Record<string, (path: string) => Promise<void>>> = {
  gz: async (path) => await pipeline(createReadStream(path), createGunzip(), nowhere()),
  zst: async (path) => {
    const file = await open(path)
    try {
      const { size } = await file.stat()
      for (let at = 0; at < size; ) at = await zstdFrameEnd(file, at)
    } finally {
      await file.close()
    }
  },
}

const nowhere = () => new Writable({ write: (_bytes, _encoding, done) => done() })

const ZSTD_MAGIC = 0xfd2fb528
const RLE_BLOCK = 1

/**
 * Where a Zstandard frame ends (RFC 8878, 3.1). Node does not tell when one is cut off, either; its blocks say how long they
 * are, and need not be decompressed for that.
 */
async function zstdFrameEnd(file: FileHandle, at: number): Promise<number> {
  const magic = await readUInt(file, at, 4)
  // Any of 16 marks a frame that is to be skipped.
  if ((magic & 0xfffffff0) >>> 0 === 0x184d2a50)
    return await reached(file, at + 8 + (await readUInt(file, at + 4, 4)))
  if (magic !== ZSTD_MAGIC) throw new Error(`no Zstandard frame begins at byte ${at}`)
  const descriptor = await readUInt(file, at + 4, 1)
  const isSingle = (descriptor & 0b10_0000) !== 0
  const dictionary = [0, 1, 2, 4][descriptor & 0b11] ?? 0
  const contentSize = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0
  let block = at + 5 + (isSingle ? 0 : 1) + dictionary + contentSize
  for (;;) {
    const header = await readUInt(file, block, 3)
    const size = header >> 3
    block += 3 + (((header >> 1) & 0b11) === RLE_BLOCK ? 1 : size)
    if (header & 1) return await reached(file, block + (descriptor & 0b100 ? 4 : 0))
  }
}

/** A place before which the file does not end. */
async function reached(file: FileHandle, end: number): Promise<number> {
  await readUInt(file, end - 1, 1)
  return end
}

async function readUInt(file: FileHandle, at: number, length: number): Promise<number> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at)
  if (bytesRead < length) throw new Error('unexpected end of file')
  return buffer.readUIntLE(0, length)
}
