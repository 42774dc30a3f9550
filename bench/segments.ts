import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { table } from '../src/cli/table.ts'
import { CHECKOUT } from '../src/config.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { openLakes } from '../src/lake/reader.ts'
import { openServed } from '../src/lake/served.ts'
import { openSession } from '../src/lake/session.ts'
import { loadModels } from '../src/model/graph.ts'
import { runModels } from '../src/model/run.ts'
import { parseDefinition } from '../src/segment/definition.ts'
import { exportPage } from '../src/segment/export.ts'
import { type MemberPlace, memberPage } from '../src/segment/member-page.ts'
import type { Part } from '../src/segment/part.ts'
import { compileOne } from '../src/segment/plan.ts'
import { openReading } from '../src/segment/reading.ts'
import { refreshBrand, type Step } from '../src/segment/refresh.ts'
import { editRules } from './edited-rules.ts'
import { options } from './options.ts'
import { segmentLake, storeIds } from './segment-lake.ts'
import { segmentMix } from './segment-mix.ts'
import { fillLog, rssMb, seconds } from './stage.ts'

// One brand with the published mix of 100 segments over a lake that the real import, snapshot and compaction made.
const { values } = options({
  options: {
    customers: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '20' },
    days: { type: 'string', default: '1095' },
    memory: { type: 'string', default: '2400' },
    lake: { type: 'string', default: join(CHECKOUT, '.bench', 'segments') },
    news: { type: 'string', default: '50000' },
    only: { type: 'string', default: 'full,edit,plain,step,estimate,members,export' },
  },
})
const parts = values.only.split(',')
const size = {
  customers: Number(values.customers),
  eventsPerCustomer: Number(values.events),
  days: Number(values.days),
}
const { app, brand, end } = await segmentLake(values.lake, size, Number(values.memory))
const rows: unknown[][] = []
let cpu = process.cpuUsage()
/** With the seconds of CPU since the figure before: on a shared machine they say more than the clock. */
const say = (what: string, figure: string, more = '') => {
  const { user, system } = process.cpuUsage(cpu)
  cpu = process.cpuUsage()
  const spent = seconds((user + system) / 1000)
  rows.push([what, figure, spent, more, rssMb()])
  process.stderr.write(`${what}: ${figure}, CPU ${spent} s, RSS ${rssMb()} MB. ${more}\n`)
}
try {
  if (parts.includes('full')) await full()
  if (parts.includes('edit')) await edit()
  if (parts.includes('plain')) await plain()
  if (parts.includes('step')) await step()
  if (parts.includes('estimate')) await estimates()
  if (parts.includes('members')) await members()
  if (parts.includes('export')) await exportLines()
  process.stdout.write(
    `node bench/segments.ts --customers ${size.customers} --events ${size.eventsPerCustomer}\n`,
  )
  process.stdout.write(`${table(['what', 'figure', 'CPU s', 'parts', 'RSS MB'], rows)}\n`)
} finally {
  await end()
}

function p95(times: number[]): number {
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0
}

/** Refreshes by themselves what this benchmark is about; `CPU` of each step as well as its time. */
async function refreshed(what: string, parts: readonly Part[]): Promise<void> {
  const steps: string[] = []
  const [started, begun] = [performance.now(), process.cpuUsage()]
  let before = begun
  const onStep = ({ step: name, ms, rows: n }: Step) => {
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    steps.push(`${name} ${seconds(ms)}, CPU ${seconds((user + system) / 1000)} (${n})`)
  }
  const { full: all } = await refreshBrand(app.pipeline, brand.id, { parts, onStep })
  say(what, `${seconds(performance.now() - started)} s`, `${all ? 'full' : 'step'}: ${steps.join('; ')}`)
}

/** Everything of the segments anew, as after a change of all rules. */
async function full(): Promise<void> {
  for (const round of ['first', 'second']) {
    await editRules(app.postgres, brand.id)
    await refreshed(`full refresh, ${round}`, ['segments'])
  }
}

async function edit(): Promise<void> {
  for (const round of ['first', 'second']) {
    await editRules(app.postgres, brand.id, 1)
    await refreshed(`refresh after an edit of one rule, ${round}`, ['segments'])
  }
}

/** One query per segment over the same files, models made before: its members counted, then kept as a refresh needs them. */
async function plain(): Promise<void> {
  const session = await openSession(app.pipeline, brand, new Date())
  try {
    const { duck } = session
    await runModels(duck.connection, await loadModels())
    const queries = segmentMix().map((definition) => compileOne(parseDefinition(definition)))
    const counting = performance.now()
    let found = 0
    for (const { text, values: bound } of queries) {
      const [row] = await duck.rows<{ n: number }>(`select count(*) as n from (${text})`, bound)
      found += row?.n ?? 0
    }
    const counted = `${seconds(performance.now() - counting)} s`
    say('one query per segment, members counted', counted, `${found} members`)
    await duck.run('create temp table members_of_each (segment integer, customer integer)')
    const keeping = performance.now()
    for (const [segment, { text, values: bound }] of queries.entries())
      await duck.run(`insert into members_of_each select ${segment}, customer from (${text})`, bound)
    say('one query per segment, members kept', `${seconds(performance.now() - keeping)} s`)
  } finally {
    await session.close()
  }
}

/** Visits of the generator have 3.9 events; events that are each of another customer touch the most. */
async function step(): Promise<void> {
  const customers = await storeIds(app, brand)
  for (const visit of [4, 1])
    for (const round of ['first', 'second']) {
      const news = { events: Number(values.news), visit, days: 1 / 96, ids: uuidv7() }
      await fillLog(app, brand, { customers, ...news })
      await snapshotAll(app.pipeline)
      const what = `${news.events / visit} visits of ${visit}, ${round}`
      await refreshed(`segments after ${what}`, ['segments'])
      await refreshed(`models after ${what}`, ['models'])
    }
}

async function estimates(): Promise<void> {
  const lakes = openLakes(openServed(app.pipeline), (one, asked) =>
    openReading(app.pipeline, one, asked.past, asked),
  )
  try {
    const opening = performance.now()
    await lakes.forBrand(brand).sources()
    say('estimate, opening of a session', `${seconds(performance.now() - opening)} s`)
    const times: Record<'windows to 91 days' | 'longer or none', number[]> = {
      'windows to 91 days': [],
      'longer or none': [],
    }
    for (const definition of segmentMix()) {
      const started = performance.now()
      const sources = await lakes.forBrand(brand).sources()
      const { text, values: bound } = compileOne(parseDefinition(definition), sources.asOf)
      await sources.rows(`select count(*) as members from (${text})`, bound)
      const days = Number(/"days":(\d+)/.exec(JSON.stringify(definition))?.[1] ?? 1095)
      times[days <= 91 ? 'windows to 91 days' : 'longer or none'].push(performance.now() - started)
    }
    for (const [what, each] of Object.entries(times))
      say(`estimate p95, ${what}`, `${Math.round(p95(each))} ms`, `${each.length} rules`)
  } finally {
    await lakes.close()
  }
}

/** A walk of the largest segment to its end. */
async function members(): Promise<void> {
  const files = openServed(app.pipeline)
  try {
    const reader = await files.reader(brand.id)
    if (!reader) return
    const [largest] = await reader.rows<{ segment: number; n: number }>(
      'select segment, count(*) as n from members group by segment order by n desc limit 1',
    )
    const times: number[] = []
    let place: MemberPlace = { after: '' }
    for (;;) {
      const started = performance.now()
      const found = await memberPage(reader, { ordinal: largest?.segment ?? 0, ...place, count: 5_001 })
      times.push(performance.now() - started)
      const last = found.at(-2)
      place = { after: last?.customer_id ?? '', position: last?.position }
      if (found.length < 5_001) break
    }
    const [first = 0] = times
    const walked = `${times.length} pages of ${largest?.n} members, the first in ${Math.round(first)} ms`
    say('members, page of 5,000, p95', `${Math.round(p95(times))} ms`, walked)
  } finally {
    await files.close()
  }
}

/** Pages of 10,000 lines of the largest segment, as bytes that could be sent. */
async function exportLines(): Promise<void> {
  const served = openServed(app.pipeline)
  try {
    const reader = await served.reader(brand.id)
    if (!reader) throw new Error('nothing is published')
    const [largest] = await reader.rows<{ ordinal: number }>(
      'select segment as ordinal from members group by segment order by count(*) desc limit 1',
    )
    if (!largest) return
    const db = app.postgres.forBrand(brand.id)
    const started = performance.now()
    let [lines, pages, place] = [0, 0, { after: '' } as MemberPlace | null]
    for (; place && pages < 100; pages++) {
      const page = await exportPage(reader, db, {
        ...largest,
        ...place,
        limit: 10_000,
        shopDomain: brand.shop_domain,
      })
      const bytes = Buffer.from(page.lines)
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++
      place = page.next
    }
    const rate = Math.round((lines / (performance.now() - started)) * 1000)
    say('export, pages of 10,000', `${rate} lines/s`, `${lines} lines`)
  } finally {
    await served.close()
  }
}
