import { join } from 'node:path'
import { table } from '../src/cli/table.ts'
import { CHECKOUT } from '../src/config.ts'
import { attachGeneration } from '../src/lake/generation.ts'
import { openServing, type WrittenServed, writeServing } from '../src/lake/serving.ts'
import { openSession } from '../src/lake/session.ts'
import { loadModels } from '../src/model/graph.ts'
import { runModels } from '../src/model/run.ts'
import { computeMarts } from '../src/segment/marts.ts'
import { BOTH } from '../src/segment/part.ts'
import { addMembers, PARAMS, writeTouchedMarts, writeTouchedMembers } from '../src/segment/served-tables.ts'
import { mergeMarts, restrict, rootsOf } from '../src/segment/touched.ts'
import { options } from './options.ts'
import { segmentLake } from './segment-lake.ts'
import { rssMb, seconds } from './stage.ts'

// All models of one brand from scratch, computed as a first refresh does, into the file that reads come from; then what
// a tick of 15 minutes makes of them. The lake stays as it is: nothing is published.
const { values } = options({
  options: {
    customers: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '20' },
    days: { type: 'string', default: '1095' },
    touched: { type: 'string', default: '50000' },
    memory: { type: 'string', default: '2400' },
    lake: { type: 'string', default: join(CHECKOUT, '.bench', 'segments') },
  },
})
/** Nobody is a member: segments are measured by bench/segments.ts. */
const NO_MEMBERS = 'create table members (segment integer, customer integer, joined_at timestamp)'

const size = {
  customers: Number(values.customers),
  eventsPerCustomer: Number(values.events),
  days: Number(values.days),
}
const { app, brand, end } = await segmentLake(values.lake, size, Number(values.memory))
const models = await loadModels()
const staging = models.filter(({ layer }) => layer === 'staging')
const marts = models.filter(({ layer }) => layer === 'mart')
const rows: unknown[][] = []
const asOf = new Date()
try {
  const base = await scratch()
  await tick(base)
  process.stdout.write(
    `node bench/models.ts --customers ${size.customers} --events ${size.eventsPerCustomer}\n`,
  )
  process.stdout.write(`${table(['what', 'rows', 's', 'CPU s', 'RSS MB'], rows)}\n`)
} finally {
  await end()
}

async function timed<T>(what: string, work: () => Promise<T>, count?: (result: T) => number | null) {
  const [started, cpu] = [performance.now(), process.cpuUsage()]
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  const row = [
    what,
    count?.(result) ?? null,
    seconds(performance.now() - started),
    seconds((user + system) / 1000),
    rssMb(),
  ]
  rows.push(row)
  process.stderr.write(`${row.join('  ')}\n`)
  return result
}

async function scratch(): Promise<WrittenServed> {
  const session = await timed('open the sources', () => openSession(app.pipeline, brand, asOf))
  const { duck } = session
  try {
    return await timed('all models from scratch', async () => {
      await runModels(duck.connection, staging)
      const serving = await openServing(session)
      try {
        for (const mart of marts)
          await timed(
            `  ${mart.name}`,
            () => computeMarts(session, { models: [mart], parts: BOTH, hollow: new Map() }, serving),
            (made) => made || null,
          )
        await duck.run(NO_MEMBERS)
        await timed('  what customers are found by', () => addMembers(session, serving))
        await serving.add([PARAMS])
      } catch (error) {
        await serving.abandon()
        throw error
      }
      return await timed('  finish the file', () => serving.finish())
    })
  } finally {
    await session.close()
  }
}

async function tick(base: WrittenServed): Promise<void> {
  const { lakeDir } = app.pipeline
  const session = await openSession(app.pipeline, brand, asOf)
  const { duck } = session
  try {
    await runModels(duck.connection, staging)
    const published = { generation: 1, base_path: base.path, changes_path: null }
    await attachGeneration({ duck, lakeDir }, published)
    await duck.run(NO_MEMBERS)
    await duck.run(`create table touched as
      select customer from published.customers order by hash(customer) limit ${Math.trunc(Number(values.touched))}`)
    await timed(`a tick that touches ${values.touched} customers, some with orders`, async () => {
      await timed('  whose rows', async () => restrict(duck, rootsOf(models)))
      for (const mart of marts.filter(({ by }) => by))
        await timed(
          `  ${mart.name} of theirs`,
          () => runModels(duck.connection, [mart]),
          ([step]) => step?.rows ?? null,
        )
      const write = (what: string, work: () => Promise<WrittenServed | null>) =>
        timed(`  write ${what}`, work)
      await write(
        'their rows of customers',
        async () => (await writeTouchedMembers(session, published, 'customers')).changes,
      )
      await write('models of everyone', () =>
        writeServing(session, (serving) => mergeMarts(duck, models, serving)),
      )
      await write('their rows', () => writeTouchedMarts(session, published, models))
    })
  } finally {
    await session.close()
  }
}
