import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { createSubjects, type Subjects } from '../identity/cache.ts'
import { awaitedEvents, keepAwaited } from './awaited.ts'
import { type Batch, firstLinesOf, placeOf, writeLines } from './batches.ts'
import { LineFile } from './line-file.ts'
import { asEvents } from './new-events.ts'
import type { Pipeline } from './pipeline.ts'
import { brandOf, readEvents } from './read-events.ts'
import { isRefusal, kindOf, refusedLines } from './refused-lines.ts'
import { TICK_BOUNDS } from './tick-bounds.ts'
import { withWorkspace } from './workspace.ts'

/** After so many rehearsals of a transaction, 50 ms each, what is left is set aside: the ticks of all brands wait. */
const REHEARSALS = 1_000

/** A line of the log that is set aside, for the ticks would fail on it for ever. */
export interface PoisonLine {
  batch_id: string
  line: number
  /** Without a word of the line. */
  reason: string
}

/**
 * Which lines of the batches, of one transaction, a tick fails on. None where it fails on an ordinary line beside them,
 * too, or on all of them only together: then they are not to blame. Of very many some that stand beside them are among these.
 */
export async function poisonIn(pipeline: Pipeline, batches: readonly Batch[]): Promise<PoisonLine[]> {
  const [brand] = await pipeline.postgres.pipeline.many<{ id: string }>('brand_ids')
  const xid = batches[0]?.xid
  if (!brand || xid === undefined) return []
  return await withWorkspace(pipeline, async (_, folder) => {
    const path = join(folder, 'lines.ndjson')
    await writeLines(pipeline, batches, path, TICK_BOUNDS)
    const lines = await linesByBrand(await LineFile.read(path))
    const ordinary = Buffer.from(ordinaryLine(brand.id))
    const subjects = createSubjects()
    let last: unknown
    const isRead = async (low: number, high: number): Promise<boolean> => {
      try {
        const texts = [...lines.slice(low, high).map(({ text }) => text), ordinary]
        await rehearse(pipeline, subjects, xid, texts)
        return true
      } catch (error) {
        if (!isRefusal(error)) throw error
        last = error
        return false
      }
    }
    if (!(await isRead(0, 0))) return []
    const firstLines = firstLinesOf(batches)
    return [...(await refusedLines(lines.length, isRead, REHEARSALS))].map((at) => ({
      ...placeOf(lines[at]?.n ?? 0, batches, firstLines),
      reason: `the lake cannot take it (${kindOf(last)})`,
    }))
  })
}

interface NumberedLine {
  n: number
  text: Buffer
  brandId: string
}

/** Those of one brand follow each other: what is set aside with a refused line is first of its own brand. */
async function linesByBrand(file: LineFile): Promise<NumberedLine[]> {
  const texts = await file.texts(Array.from({ length: file.lines }, (_, n) => n))
  const lines = texts.map((text, n) => ({ n, text, brandId: brandOf(text) ?? '' }))
  return [...Map.groupBy(lines, ({ brandId }) => brandId).values()].flat()
}

const LINE_END = Buffer.from('\n')

/** All that a tick does with lines, up to its publication. */
async function rehearse(
  pipeline: Pipeline,
  subjects: Subjects,
  xid: string,
  lines: readonly Buffer[],
): Promise<void> {
  await withWorkspace(pipeline, async (duck, folder) => {
    const path = join(folder, 'part.ndjson')
    await writeFile(path, Buffer.concat(lines.flatMap((line) => [line, LINE_END])))
    const batch = { batch_id: uuidv7(), xid, event_count: lines.length, received_at: new Date() }
    await readEvents(pipeline, duck, path, [batch], { tick: 0, subjects })
    await duck.run(`create table rehearsed as ${asEvents('new_lines')}`)
    const awaited = await awaitedEvents(pipeline, duck)
    await pipeline.postgres.pipeline
      .tx(async (tx) => {
        await keepAwaited(tx, duck, awaited)
        throw REHEARSED
      })
      .catch((error: unknown) => {
        if (error !== REHEARSED) throw error
      })
  })
}

const REHEARSED = new Error('rehearsed')

/** What a browser sent of nobody: it makes no customer. */
const ordinaryLine = (brandId: string): string => {
  const now = Date.now()
  const said = { brand_id: brandId, event_id: uuidv7(), origin: 'browser', event_type: 'page_viewed' }
  return JSON.stringify({ ...said, received_at: now, occurred_at: now, properties: {} })
}
