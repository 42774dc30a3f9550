import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { eraseDue, eraseLate } from '../src/connect/erase/due.ts'
import { requestErasure } from '../src/identity/erasure-request.ts'
import { compactBrand } from '../src/lake/compact.ts'
import { compactStaging } from '../src/lake/compact-staging.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { Outrun } from '../src/lake/manifest.ts'
import type { Pipeline } from '../src/lake/pipeline.ts'
import { snapshot } from '../src/lake/snapshot.ts'
import { setLogLevel } from '../src/log.ts'
import type { Brand, Statements } from '../src/op.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { type Canary, canaryOf, fillWithCanary } from './fixtures/canary.ts'
import { lake, logBatch, sourceRows } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { everythingStored, placesOf } from './fixtures/search.ts'

setLogLevel('error')
const AT_ONCE = { patience: { readersMs: 0, writersMs: 0 } }
const pipeline = await lake(t)
const { sql } = pipeline.postgres

/** A brand with a canary whose erasure was asked for. */
async function asked(
  mark: string,
  phone: string,
): Promise<{ brand: Brand; canary: Canary; others: object[] }> {
  const brand = await newBrand(pipeline)
  const canary = canaryOf(mark, phone)
  await fillWithCanary(t, pipeline, brand, canary, { compacted: false })
  const others = await othersOf(brand)
  await pipeline.postgres
    .forBrand(brand.id)
    .tx((tx) => requestErasure(tx, { storeCustomerId: canary.storeId }, 'a test'))
  return { brand, canary, others }
}

const othersOf = (brand: Brand) =>
  sourceRows(
    pipeline,
    brand,
    `select customers_source.*, (select count(*) from events where events.subject = customers_source.subject)::integer as events
     from customers_source where email like 'other%' order by email`,
  ).then((rows) => rows.map(({ tick: _, ...row }) => row))

/** Nothing of the canary is left, and everything of the others. */
async function isErased(t: Test, { brand, canary, others }: Awaited<ReturnType<typeof asked>>) {
  const publicId = `myshopify:${brand.shop_domain.split('.')[0]}:${canary.storeId}`
  t.same(placesOf(await everythingStored(pipeline), canary.texts, [publicId]), {})
  t.same(await othersOf(brand), others)
}

/** The pipeline whose n-th statement from now fails, as when Postgres goes away. */
function failingAt(wanted: number): Pipeline & { ran: string[] } {
  const ran: string[] = []
  const failing = <S extends Statements>(statements: S): S =>
    new Proxy(statements, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>
        if (name === 'tx')
          return (work: (tx: Statements) => unknown) => method((tx: Statements) => work(failing(tx)))
        return async (statement: string, args: unknown[]) => {
          ran.push(statement)
          if (ran.length === wanted) throw new Error(`no answer to ${statement}`)
          return await method(statement, args)
        }
      },
    })
  const postgres = { ...pipeline.postgres, pipeline: failing(pipeline.postgres.pipeline) }
  return { ...pipeline, postgres, ran }
}

t.test('an erasure that fails at any step goes on where it was', async (t) => {
  const one = await asked('1kill', '+12025550171')
  const steps: string[] = []
  let more = true
  for (let statement = 12; more; statement += 9) {
    await sql`update erasure set tried_at = null`
    const failing = failingAt(statement)
    more = await eraseDue(failing, AT_ONCE).then(
      () => false,
      () => true,
    )
    if (more) steps.push(failing.ran[statement - 1] ?? '')
  }
  t.ok(steps.length > 5, steps.join(', '))
  await isErased(t, one)
})

t.test('an erasure whose process is killed is finished by the next one', async (t) => {
  const random = randomSource(t)
  const two = await asked('2kill', '+12025550172')
  const erasers = Array.from({ length: 3 }, () => eraser(t))
  for (const killedAfter of erasers) {
    await sql`update erasure set tried_at = null`
    await killedAfter(50 + random.below(700))
  }
  await sql`update erasure set tried_at = null`
  await eraseDue(pipeline, AT_ONCE)
  await isErased(t, two)
})

/** A process that does erasures and is killed so many milliseconds after it began. */
function eraser(t: Test) {
  const program = fileURLToPath(new URL('./fixtures/erasure-killed.ts', import.meta.url))
  const args = [program, pipeline.postgres.url, pipeline.lakeDir]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ready = once(child.stdout, 'data')
  const exited = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  return async (milliseconds: number) => {
    await ready
    child.stdin.end()
    const timer = setTimeout(() => child.kill('SIGKILL'), milliseconds)
    await exited
    clearTimeout(timer)
    t.comment(`${child.signalCode ?? 'done'} after ${milliseconds} ms`)
  }
}

t.test('snapshots, compactions and refreshes that run meanwhile bring nothing back', async (t) => {
  const three = await asked('3race', '+12025550173')
  const { id } = three.brand
  let running = true
  const again = async (work: () => Promise<unknown>) => {
    while (running) {
      await work().catch((error: unknown) => {
        if (!(error instanceof Outrun)) throw error
      })
    }
  }
  const visit = { brand_id: id, store_customer_id: three.canary.storeId, occurred_at: Date.now() - 1_000 }
  const racing = Promise.all([
    again(async () => {
      await logBatch(sql, [visit, { brand_id: id, anonymous_id: 'visitor' }])
      await snapshot(pipeline)
    }),
    again(() => compactBrand(pipeline, id, true)),
    again(() => compactStaging(pipeline)),
    again(() => refreshBrand(pipeline, id)),
  ])
  await eraseDue(pipeline, { patience: { readersMs: 1_000, writersMs: 60_000 } })
  running = false
  await racing
  await snapshotAll(pipeline)
  await eraseLate(pipeline, AT_ONCE.patience)
  await isErased(t, three)
})
