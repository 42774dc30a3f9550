import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { createSubjectCache } from '../../src/identity/cache.ts'
import { Outrun } from '../../src/lake/manifest.ts'
import type { Pipeline } from '../../src/lake/pipeline.ts'
import { snapshot } from '../../src/lake/snapshot.ts'
import type { Brand } from '../../src/op.ts'
import { brand as makeBrand } from '../fixtures/brand.ts'
import { database } from '../fixtures/database.ts'
import { lake, logBatch, passed, sourceRows, tick } from '../fixtures/lake.ts'
import type { RandomSource } from '../fixtures/random.ts'

const PROGRAM = fileURLToPath(new URL('./snapshot-killed.ts', import.meta.url))

/** Ticks killed before so many of their steps, all of them when there are fewer; each is made up for by the next. */
export async function killSnapshots(t: Test, random: RandomSource, most: number): Promise<void> {
  const db = await database(t)
  const pipeline = await lake(t, db)
  const brand = await makeBrand(db)
  const logged = new Set<string>()
  const log = () => logEvents(pipeline, brand, random, logged)
  const killed = async (step: number) => {
    await log()
    await passed(pipeline)
    return await run(db.url, pipeline.lakeDir, step)
  }

  const { stdout } = await killed(0)
  const steps = Number(stdout)
  t.comment(`a tick has ${steps} steps`)
  const all = Array.from({ length: steps }, (_, n) => n + 1)
  const chosen = most < steps ? random.list(most, most, () => random.pick(all)) : all
  for (const step of chosen) {
    const { signal } = await killed(step)
    if (signal !== 'SIGKILL') t.fail(`the tick ended before step ${step}`)
    // What another worker does a minute later.
    await tick(pipeline)
  }
  await compare(t, pipeline, brand, logged)
}

/** Two workers take the same ticks at once, each with what it remembers of its own ones. */
export async function raceSnapshots(t: Test, random: RandomSource, rounds: number): Promise<void> {
  const db = await database(t)
  const pipeline = await lake(t, db)
  const workers = [pipeline, { ...pipeline, subjects: createSubjectCache() }]
  const brand = await makeBrand(db)
  const logged = new Set<string>()
  let outrun = 0
  for (let round = 0; round < rounds; round++) {
    await logEvents(pipeline, brand, random, logged)
    await passed(pipeline)
    const ran = await Promise.allSettled(workers.map((worker) => snapshot(worker)))
    for (const result of ran) {
      if (result.status === 'fulfilled') continue
      if (!(result.reason instanceof Outrun)) throw result.reason
      outrun++
    }
  }
  t.ok(outrun > 0, `${outrun} ticks of ${rounds} were published by the other worker first`)
  await tick(pipeline)
  await compare(t, pipeline, brand, logged)
}

async function logEvents(
  { postgres }: Pipeline,
  { id }: Brand,
  random: RandomSource,
  logged: Set<string>,
): Promise<void> {
  const ids = random.list(1, 20, randomUUID)
  // Sent again now and then, as by a client that had no answer.
  const again = random.chance(0.3) ? [...logged].slice(-3) : []
  for (const eventId of ids) logged.add(eventId)
  const lines = [...again, ...ids].map((event_id) => ({
    brand_id: id,
    event_id,
    anonymous_id: `visitor-${random.below(50)}`,
    ...(random.chance(0.3) ? { email: `person-${random.below(50)}@example.com` } : {}),
  }))
  // Somebody new each time: every tick has the steps that make a customer.
  const event_id = randomUUID()
  logged.add(event_id)
  await logBatch(postgres.sql, [...lines, { brand_id: id, event_id, email: `${event_id}@example.com` }])
}

async function compare(
  t: Test,
  pipeline: Pipeline,
  brand: Brand,
  logged: ReadonlySet<string>,
): Promise<void> {
  const rows = await sourceRows<{ event_id: string; times: number; nobody: number }>(
    pipeline,
    brand,
    `select event_id, count(*)::integer as times, count(*) filter (subject is null)::integer as nobody
    from events group by all`,
  )
  t.same(
    rows.filter(({ event_id, times }) => times !== 1 || !logged.has(event_id)),
    [],
    'once, and none invented',
  )
  t.equal(rows.length, logged.size, `all ${logged.size} events`)
  t.same(
    rows.filter(({ nobody }) => nobody > 0),
    [],
    'each about somebody',
  )
}

async function run(url: string, lakeDir: string, killAt: number) {
  const child = spawn(process.execPath, [PROGRAM, url, lakeDir, `${killAt}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  if (code) throw new Error(`the tick failed with exit code ${code}`)
  return { signal, stdout }
}
