import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { Compressor } from '../src/event/compressor.ts'
import { Decompressor } from '../src/event/decompressor.ts'

const BUFFER_BYTES = 2 << 20
/** Of the frame that Node adds where one ends with the output buffer, since it asks for more. */
const EMPTY_BYTES = 9

async function compressed(t: Test, batches: readonly Buffer[]): Promise<Buffer[]> {
  const compressor = new Compressor()
  t.teardown(() => compressor.close())
  const frames: Buffer[] = []
  for (const batch of batches) frames.push(Buffer.from(await compressor.compress([batch])))
  return frames
}

async function expanded(t: Test, frames: readonly Buffer[]): Promise<Buffer[]> {
  const decompressor = new Decompressor()
  t.teardown(() => decompressor.close())
  const batches: Buffer[] = []
  for (const frame of frames) batches.push(Buffer.concat(await decompressor.decompress(frame)))
  return batches
}

/** Random bytes whose frame is so long: they stay as they are, behind headers. */
async function bytesOfFrame(t: Test, length: number): Promise<Buffer> {
  const bytes = randomBytes(length)
  for (let headers = 1; headers < 200; headers++) {
    const batch = bytes.subarray(headers)
    const [frame] = await compressed(t, [batch])
    if (frame?.length === length) return batch
  }
  throw new Error(`no frame of ${length} bytes`)
}

t.test('batches come back as they were where one ends with the buffer of what is compressed', async (t) => {
  const first = randomBytes(BUFFER_BYTES / 2)
  const [before] = await compressed(t, [first])
  const rest = BUFFER_BYTES - (before?.length ?? 0)
  const batches = [first, await bytesOfFrame(t, rest), Buffer.from('next'), Buffer.from('last')]
  const frames = await compressed(t, batches)
  t.equal(frames[1]?.length, rest + EMPTY_BYTES, 'an empty frame behind it')
  t.same(await expanded(t, frames), batches)
})

t.test('all frames of a piece are expanded', async (t) => {
  const batches = ['one', '', 'two', 'three'].map((text) => Buffer.from(text))
  const frames = await compressed(t, batches)
  t.same(await expanded(t, [Buffer.concat(frames), ...frames]), [Buffer.from('onetwothree'), ...batches])
})

t.test('after bytes that are no frame the next one is expanded', async (t) => {
  const [frame = Buffer.of()] = await compressed(t, [Buffer.from('one')])
  const decompressor = new Decompressor()
  t.teardown(() => decompressor.close())
  for (const broken of [Buffer.from('no frame at all'), Buffer.concat([frame, Buffer.from('no frame')])])
    await t.rejects(decompressor.decompress(broken), { code: /ZSTD/ })
  t.same(await decompressor.decompress(frame), [Buffer.from('one')])
})
