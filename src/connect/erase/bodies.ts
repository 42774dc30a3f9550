import { createWriteStream } from 'node:fs'
import { rename, rm, unlink } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { errorCode } from '../../errors.ts'
import { parseWithTexts } from '../../event/exact.ts'
import type { People } from '../../identity/people.ts'
import { linesOf } from '../../lake/line-file.ts'
import type { Statements } from '../../op.ts'
import { SLICE_BYTES } from '../kept.ts'
import type { Counts } from './tables.ts'

/** Whose traces to look for, in what came until when. */
export interface Wanted {
  brandId: string
  people: People
  erasedAt: Date
}

interface Body {
  id: string
  body: Buffer
}

/** Tables that keep what was sent as it was sent: a statement that lists a slice behind an id, and one that erases by id. */
const BODIES: readonly [table: string, list: string, erase: string][] = [
  ['store_delivery', 'bodies_of_deliveries', 'bodies_of_deliveries_erase'],
  ['store_event', 'bodies_of_store_events', 'bodies_of_store_events_erase'],
  ['dead_letter', 'bodies_of_dead_letters', 'bodies_of_dead_letters_erase'],
  ['dead_event', 'bodies_of_dead_events', 'bodies_of_dead_events_erase'],
]

/** Their tables, and the log of events, which is rewritten. */
export const OPENED_TABLES: readonly string[] = ['event_log', ...BODIES.map(([table]) => table)]

/** Opens everything that a brand keeps unread, and erases what names the people. */
export async function eraseBodies(db: Statements, { brandId, erasedAt, people }: Wanted): Promise<Counts> {
  const counts: Counts = {}
  for (const [table, list, erase] of BODIES) {
    let erased = 0
    for await (const bodies of slices(db, list, { brandId, erasedAt })) {
      const theirs = bodies.filter(({ body }) => names(people, body.toString())).map(({ id }) => id)
      if (theirs.length) erased += await db.run(erase, [brandId, theirs])
    }
    counts[`postgres.${table}`] = erased
  }
  return counts
}

async function* slices(
  db: Statements,
  list: string,
  { brandId, erasedAt }: Pick<Wanted, 'brandId' | 'erasedAt'>,
): AsyncGenerator<Body[]> {
  for (let after: string | null = null; ; ) {
    const bodies: Body[] = await db.many<Body>(list, [brandId, erasedAt, after, SLICE_BYTES])
    const last = bodies.at(-1)
    if (!last) return
    yield bodies
    after = last.id
  }
}

function names(people: People, text: string): boolean {
  try {
    return people.areIn(parseWithTexts(text))
  } catch {
    return people.areInText(text)
  }
}

/** What reading says where no file is, or none any more. */
const NO_FILE = ['ENOENT', 'ENOTDIR', 'EISDIR']

/** Takes the rows of people out of the files in which imports of the brand left what they refused. */
export async function eraseRejects(db: Statements, { brandId, erasedAt, people }: Wanted): Promise<Counts> {
  let rows = 0
  for (const { path } of await db.many<{ path: string }>('rejects_of_brand', [brandId, erasedAt])) {
    const found = await rowsIn(path, people).catch((error: unknown) => {
      if (NO_FILE.includes(errorCode(error) ?? '')) return null
      throw error
    })
    if (found === null) await db.run('rejects_forget', [brandId, path])
    else if (found.theirs > 0) {
      if (found.others === 0) await rm(path)
      else await replaceByOthers(path, people)
      rows += found.theirs
    }
  }
  return { 'imports.rejected_rows': rows }
}

/** Removes the files in which imports of the brand left what they refused, whomever that names. */
export async function eraseAllRejects(db: Statements, brandId: string): Promise<void> {
  const { now } = await db.one<{ now: Date }>('erasure_now')
  for (const { path } of await db.many<{ path: string }>('rejects_of_brand', [brandId, now])) {
    await unlink(path).catch((error: unknown) => {
      if (!NO_FILE.includes(errorCode(error) ?? '')) throw error
    })
    await db.run('rejects_forget', [brandId, path])
  }
}

async function rowsIn(path: string, people: People): Promise<{ theirs: number; others: number }> {
  const found = { theirs: 0, others: 0 }
  for await (const lines of linesOf(path))
    for (const line of lines.map(String)) {
      if (names(people, line)) found.theirs++
      else if (line !== '\n') found.others++
    }
  return found
}

/** Byte by byte, as they are. */
async function replaceByOthers(path: string, people: People): Promise<void> {
  const others = async function* () {
    for await (const lines of linesOf(path)) yield* lines.filter((line) => !names(people, String(line)))
  }
  await pipeline(others, createWriteStream(`${path}.new`, { flush: true, mode: 0o600 }))
  await rename(`${path}.new`, path)
}
