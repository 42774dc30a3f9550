import { linesOf, withoutLines } from '../event/erase-lines.ts'
import type { EventLine } from '../event/shape.ts'
import type { People } from '../identity/people.ts'
import { erasedAmong, type Identity } from '../identity/subject.ts'
import type { Statements } from '../op.ts'
import { withEventLog } from './event-log.ts'
import { onEach } from './on-each.ts'
import type { Pipeline } from './pipeline.ts'

export interface LogCounts {
  batches: number
  events: number
}

/** Looked for at a time. By its id alone a batch is found by passing over the keys of the whole log: 300,000 took 0.2 s. */
const BATCHES = 10_000
/** Looked through at a time; a batch is some megabytes at most. */
const PAGE = 16
const FIRST = { received_at: '-infinity', batch_id: '00000000-0000-0000-0000-000000000000' }

/** Where a batch stands; the time as text, since it has microseconds. */
interface Place {
  received_at: string
  batch_id: string
}

interface Batch extends Place {
  payload: Buffer
  /** When the brand was first cut after it committed. */
  cut_at: Date | null
}

/** Called in the transaction that erases from a batch. */
type Note = (tx: Statements, counts: LogCounts) => Promise<void>
const NOTHING: Note = async () => {}

/**
 * Takes the lines that are noted in `erased_line` out of the event log: those that lake rows of erased customers named,
 * and those that the snapshot left out. Whatever is killed or fails meanwhile, a line is noted until it is gone.
 */
export async function eraseNotedLines(pipeline: Pipeline, note = NOTHING): Promise<LogCounts> {
  const { pipeline: db } = pipeline.postgres
  const total = { batches: 0, events: 0 }
  // Those that are noted now: more may come faster than they go.
  const ids = (await db.many<{ batch_id: string }>('erased_batch_ids')).map(({ batch_id }) => batch_id)
  await onEach(notedIn(pipeline, ids), failed, ({ batch_id, lines, place }) =>
    withEventLog(pipeline, async (tx) => {
      // Gone with its day: the log keeps batches for a week.
      if (place) await eraseIn(tx, place, lines, total, note)
      await tx.run('erased_lines_done', [batch_id, lines])
    }),
  )
  return total
}

const failed = ({ batch_id }: Noted) => ({ event: 'noted_lines_failed', batch_id })

interface Noted {
  batch_id: string
  lines: number[]
  /** Unless the log has it no more. */
  place: Place | undefined
}

async function* notedIn(pipeline: Pipeline, ids: readonly string[]): AsyncGenerator<Noted> {
  for (let at = 0; at < ids.length; at += BATCHES) {
    const some = ids.slice(at, at + BATCHES)
    const noted = await pipeline.postgres.pipeline.many<Omit<Noted, 'place'>>('erased_batches', [some])
    const places = await withEventLog(pipeline, (tx) => tx.many<Place>('log_batches_with', [some]))
    const placeOf = new Map(places.map((place) => [place.batch_id, place]))
    for (const one of noted) yield { ...one, place: placeOf.get(one.batch_id) }
  }
}

async function eraseIn(
  tx: Statements,
  { received_at, batch_id }: Place,
  lines: Iterable<number>,
  total: LogCounts,
  note: Note,
): Promise<void> {
  const held = await tx.maybe<{ payload: Buffer }>('log_batch_hold', [received_at, batch_id])
  if (!held) return
  const { payload, erased } = await withoutLines(held.payload, lines)
  if (erased === 0) return
  await tx.run('log_batch_rewrite', [received_at, batch_id, payload])
  await note(tx, { batches: 1, events: erased })
  total.batches++
  total.events += erased
}

/** Whose lines to look for. */
export interface Wanted {
  brandId: string
  people: People
}

/**
 * Looks through every batch that the log has for lines about erased customers that no lake row names, such as repeats
 * of an event, and takes them out.
 */
export async function eraseOtherLines(
  pipeline: Pipeline,
  wanted: Wanted,
  note = NOTHING,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<LogCounts> {
  const total = { batches: 0, events: 0 }
  const { batches } = await pipeline.postgres.pipeline.one<{ batches: number }>('log_batch_count')
  const until = new Date()
  let after: Place = FIRST
  for (let done = 0; ; ) {
    const place = [wanted.brandId, after.received_at, after.batch_id, until, PAGE]
    const page = await withEventLog(pipeline, (tx) => tx.many<Batch>('log_batches_after', place))
    for (const batch of page) {
      const lines = await linesAbout(pipeline, wanted, batch)
      if (lines.length) await withEventLog(pipeline, (tx) => eraseIn(tx, batch, lines, total, note))
    }
    const last = page.at(-1)
    if (!last) return total
    after = last
    done += page.length
    onProgress(done, Math.max(done, batches))
  }
}

/** Numbers of the lines that tell of erased customers from before their erasure. */
async function linesAbout(
  { postgres, storePlatformDomain }: Pipeline,
  { brandId, people }: Wanted,
  { payload, cut_at }: Batch,
): Promise<number[]> {
  const found: number[] = []
  const perhaps: { number: number; identity: Identity }[] = []
  for (const [number, text] of (await linesOf(payload)).entries()) {
    if (!text.includes(brandId)) continue
    const line = read(text)
    if (line === null) {
      if (people.areInText(text)) found.push(number)
    } else if (line.brand_id === brandId && people.mayBeNamedBy(line))
      perhaps.push({ number, identity: identityIn(line, cut_at) })
  }
  if (perhaps.length === 0) return found
  const identities = perhaps.map(({ identity }) => identity)
  const erased = await erasedAmong(postgres.sql, brandId, identities, { storePlatformDomain })
  return [...found, ...perhaps.filter((_, at) => erased[at]).map(({ number }) => number)]
}

function read(text: string): EventLine | null {
  try {
    return JSON.parse(text) as EventLine
  } catch {
    return null
  }
}

const identityIn = (line: EventLine, cutAt: Date | null): Identity => ({
  storeCustomerId: line.store_customer_id,
  profileId: line.profile_id,
  email: line.email,
  phone: line.phone,
  anonymousId: line.anonymous_id,
  seenAt: new Date(Math.min(line.occurred_at, cutAt?.getTime() ?? line.occurred_at)),
  origin: line.origin === 'browser' ? 'browser' : undefined,
})
