import { join } from 'node:path'
import { CHECKOUT } from '../src/config.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { createSegment } from '../src/segment/saved.ts'
import { editRules } from './edited-rules.ts'
import { addNews, copyShare } from './lake-slice.ts'
import { options } from './options.ts'
import { progress, RESULTS, report, rounded } from './report.ts'
import { segmentLake } from './segment-lake.ts'
import { segmentMix } from './segment-mix.ts'
import { stage } from './stage.ts'

// What a refresh costs over the events (shares of the customers of the lake that segments.ts makes and keeps, each copied
// with all that is theirs), and over the segments: all members anew, and after some news. docs/cost.svg is drawn of it.
const { values } = options({
  options: {
    customers: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '20' },
    days: { type: 'string', default: '1095' },
    memory: { type: 'string', default: '2400' },
    lake: { type: 'string', default: join(CHECKOUT, '.bench', 'segments') },
    shares: { type: 'string', default: '0.05,0.1,0.25,0.5,1' },
    segments: { type: 'string', default: '1,10,100,300' },
    news: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '2' },
    json: { type: 'string', default: join(RESULTS, 'cost.json') },
  },
})

export interface Cost {
  axis: 'events' | 'segments'
  events: number
  customers: number
  segments: number
  full_s: number
  full_cpu_s: number
  step_s: number
  step_cpu_s: number
}

type Stage = Awaited<ReturnType<typeof stage>>

const numbers = (text: string) => text.split(',').map(Number)
const size = {
  customers: Number(values.customers),
  eventsPerCustomer: Number(values.events),
  days: Number(values.days),
}
const shares = numbers(values.shares).sort((a, b) => a - b)
/** Segments while the events differ. */
const MIX = 100

/** Three hundred; the first ten, and then the first hundred, are of all kinds. */
const definitions = [0, 1, 2].flatMap((hundred) => {
  const mix = segmentMix(hundred)
  return mix.map((_, n) => mix[(n % 10) * 10 + Math.floor(n / 10)] as object)
})

async function addSegments({ app, brand }: Stage, from: number, to: number): Promise<void> {
  const db = app.postgres.forBrand(brand.id)
  for (let n = from; n < to; n++)
    await createSegment(db, { name: `Mix ${n}`, definition: definitions[n] ?? {}, createdBy: 'cli' })
  await refreshBrand(app.pipeline, brand.id)
}

/** The quickest of some rounds: whatever else the machine did made the others slower. */
async function quickest({ app, brand }: Stage, prepare: () => Promise<unknown>) {
  const taken: { s: number; cpu: number }[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    await prepare()
    const [started, before] = [performance.now(), process.cpuUsage()]
    await refreshBrand(app.pipeline, brand.id, { parts: ['segments'] })
    const { user, system } = process.cpuUsage(before)
    taken.push({ s: (performance.now() - started) / 1000, cpu: (user + system) / 1e6 })
  }
  const least = (pick: (one: (typeof taken)[number]) => number) => rounded(Math.min(...taken.map(pick)), 2)
  return { s: least(({ s }) => s), cpu: least(({ cpu }) => cpu) }
}

async function costOf(place: Stage, axis: Cost['axis'], segments: number): Promise<Cost> {
  const { app, brand } = place
  const { sql } = app.postgres
  const [rows] = await sql<{ events: number; customers: number }[]>`
    select sum(rows) filter (where relation = 'events')::bigint as events,
      sum(rows) filter (where relation = 'customers')::bigint as customers
    from lake_file where brand_id = ${brand.id} and retired_at is null and level > 0`
  const full = await quickest(place, () => editRules(app.postgres, brand.id))
  const step = await quickest(place, () => addNews(place, Number(values.news)))
  const cost = { full_s: full.s, full_cpu_s: full.cpu, step_s: step.s, step_cpu_s: step.cpu }
  return { axis, events: rows?.events ?? 0, customers: rows?.customers ?? 0, segments, ...cost }
}

const costs: Cost[] = []
const whole = await segmentLake(values.lake, size, Number(values.memory))
try {
  for (const share of shares) {
    const place = await stage(Number(values.memory))
    try {
      const started = performance.now()
      await copyShare(whole, place, share)
      progress(`${share} of the lake, copied in ${rounded((performance.now() - started) / 1000)} s`)
      const counts = share === shares.at(-1) ? numbers(values.segments) : []
      let made = 0
      for (const count of [...new Set([...counts, MIX])].sort((a, b) => a - b)) {
        await addSegments(place, made, count)
        made = count
        const cost = await costOf(place, 'events', count)
        progress(`${cost.events} events, ${count} segments: full ${cost.full_s} s, step ${cost.step_s} s`)
        if (count === MIX) costs.push(cost)
        if (counts.includes(count)) costs.push({ ...cost, axis: 'segments' })
      }
    } finally {
      await place.end()
    }
  }
} finally {
  await whole.end()
}
report(
  {
    command: `node bench/cost.ts --customers ${size.customers} --events ${size.eventsPerCustomer} --news ${values.news}`,
    says: `Refreshes of segments: all members anew, and a step after ${values.news} events; the quickest of ${values.rounds}.`,
    json: values.json,
  },
  costs,
)
