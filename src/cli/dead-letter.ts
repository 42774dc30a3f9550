import type { App } from '../app.ts'
import {
  type Listed,
  listDeadLetters,
  replayDeadLetter,
  showDeadLetter,
} from '../connect/custom/dead-letter.ts'
import {
  deadEventId,
  type ListedEvent,
  listDeadEvents,
  replayDeadEvent,
  showDeadEvent,
} from '../lake/dead-event.ts'
import type { Brand } from '../op.ts'
import { command, integerOption, UsageError } from './command.ts'
import { brand, ofBrand, UUID } from './of-brand.ts'
import { table } from './table.ts'

const PAGE = 500

/** A webhook delivery that could not be stored, or an event that the lake refused. */
interface Dead {
  kind: 'delivery' | 'event'
  id: string
  type: string | null
  event_id: string | null
  reason: string
  attempts: number
  since: Date
}

/** All of one kind, page by page. */
async function* allOf<Row>(page: (after: Row | null) => Promise<Row[]>): AsyncGenerator<Row> {
  for (let after: Row | null = null; ; ) {
    const rows: Row[] = await page(after)
    yield* rows
    if (rows.length < PAGE) return
    after = rows.at(-1) ?? null
  }
}

async function* deadOf({ postgres }: App, { id }: Brand): AsyncGenerator<Dead> {
  const ofBrand = postgres.forBrand(id)
  for await (const one of allOf<Listed>((after) => listDeadLetters(ofBrand, after, PAGE)))
    yield {
      kind: 'delivery',
      id: one.id,
      type: one.event_type,
      event_id: one.event_id,
      reason: one.reason,
      attempts: one.attempts,
      since: one.received_at,
    }
  for await (const one of allOf<ListedEvent>((after) => listDeadEvents(postgres.pipeline, id, after, PAGE)))
    yield {
      kind: 'event',
      id: deadEventId(one),
      type: null,
      event_id: null,
      reason: one.reason,
      attempts: 1,
      since: one.created_at,
    }
}

const isDelivery = (id: string) => UUID.test(id)

async function replay({ postgres, config }: App, { id: brandId }: Brand, id: string): Promise<string> {
  if (!isDelivery(id)) {
    await replayDeadEvent(postgres.pipeline, brandId, id)
    return 'in the event log again'
  }
  const { storePlatformDomain } = config
  const db = postgres.forBrand(brandId)
  const replayed = await replayDeadLetter({ db, brandId, storePlatformDomain }, id)
  return typeof replayed === 'string' ? replayed : `failed: ${replayed.failed}`
}

export const deadLetterCommands = [
  command({
    name: 'dead-letter list',
    what: 'List webhook deliveries that could not be stored, and events that the lake refused',
    options: {
      brand,
      limit: { type: 'string', placeholder: 'N', what: 'At most so many; default 100' },
    },
    run: async (run) => {
      const most = integerOption(run.values, 'limit', 100, 1, 100_000)
      const { app, brand: found } = await ofBrand(run)
      const data: Dead[] = []
      for await (const one of deadOf(app, found)) {
        data.push(one)
        if (data.length === most) break
      }
      return { data }
    },
    text: ({ data }) =>
      table(
        ['kind', 'id', 'type', 'event id', 'attempts', 'since', 'reason'],
        data.map((one) => [one.kind, one.id, one.type, one.event_id, one.attempts, one.since, one.reason]),
      ),
  }),

  command({
    name: 'dead-letter show',
    arguments: ['ID'],
    what: 'Show one of recoup dead-letter list with what was sent; it can hold personal data',
    options: { brand },
    run: async (run) => {
      const { app, brand: found, db } = await ofBrand(run)
      const [id] = run.positionals
      if (isDelivery(id)) {
        const { body, ...letter } = await showDeadLetter(db, id)
        return { ...letter, body: body.toString() }
      }
      const { payload, ...event } = await showDeadEvent(app.postgres.pipeline, found.id, id)
      return { id, ...event, body: payload.toString() }
    },
    text: ({ body, ...letter }) =>
      `${Object.entries(letter)
        .map(([name, value]) => `${name}: ${value instanceof Date ? value.toISOString() : (value ?? '')}`)
        .join('\n')}\n\n${body}`,
  }),

  command({
    name: 'dead-letter replay',
    arguments: ['[ID]'],
    what: 'Process one of recoup dead-letter list again, or all; what was stored meanwhile is not stored twice',
    options: { brand, all: { type: 'boolean', what: 'All that wait' } },
    run: async (run) => {
      const [given] = run.positionals
      if ((given === undefined) === (run.values.all !== true))
        throw new UsageError('Either an ID or --all is needed. See recoup dead-letter replay --help')
      const { app, brand: found } = await ofBrand(run)
      const ids: string[] = []
      if (given) ids.push(given)
      else for await (const one of deadOf(app, found)) ids.push(one.id)
      const data: { id: string; outcome: string }[] = []
      for (const id of ids) data.push({ id, outcome: await replay(app, found, id) })
      return { data }
    },
    text: ({ data }) =>
      table(
        ['id', 'outcome'],
        data.map(({ id, outcome }) => [id, outcome]),
      ),
    fails: ({ data }) => data.some(({ outcome }) => outcome.startsWith('failed')),
  }),
]
