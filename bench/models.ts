import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { table } from '../src/cli/table.ts'
import { CHECKOUT } from '../src/config.ts'
import { attachGeneration } from '../src/lake/generation.ts'
import { writeChanges, writeServed } from '../src/lake/serving.ts'
import { openSession, type Session } from '../src/lake/session.ts'
import { loadModels, type Model } from '../src/model/graph.ts'
import { runModels } from '../src/model/run.ts'
import { mergeMarts, restrict, rootsOf } from '../src/segment/touched.ts'
import type { WrittenFile } from '../src/store/lake.ts'
import { segmentLake } from './segment-lake.ts'
import { rssMb, seconds } from './stage.ts'

// All models of one brand from scratch, written as the file that reads come from; then what a tick of 15 minutes makes
// of them. The lake stays as it is: nothing is published.
const { values } = parseArgs({
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
const NO_MEMBERS = {
  name: 'members',
  select: 'select 1 as segment, 1 as position, customer, null::timestamp as joined_at from customers limit 0',
}
/** Customers with their places, as a refresh publishes them. */
const PLACES = '(row_number() over (order by customer_id))::integer as position'

const size = {
  customers: Number(values.customers),
  eventsPerCustomer: Number(values.events),
  days: Number(values.days),
}
const { app, brand } = await segmentLake(values.lake, size, Number(values.memory))
const models = await loadModels()
const marts = models.filter(({ layer }) => layer === 'mart')
const rows: unknown[][] = []
const written: WrittenFile[] = []
const asOf = new Date()
try {
  const base = await scratch()
  await tick(base)
  process.stdout.write(
    `node bench/models.ts --customers ${size.customers} --events ${size.eventsPerCustomer}\n`,
  )
  process.stdout.write(`${table(['what', 'rows', 's', 'CPU s', 'RSS MB'], rows)}\n`)
} finally {
  for (const { path } of written) rmSync(join(app.pipeline.lakeDir, path), { force: true })
  await app.close()
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

async function run(session: Session, what: string, list: readonly Model[]): Promise<void> {
  await timed(what, async () => {
    for (const model of list)
      if (model.layer === 'staging') await runModels(session.duck.connection, [model])
      else
        await timed(
          `  ${model.name}`,
          () => runModels(session.duck.connection, [model]),
          ([step]) => step?.rows ?? null,
        )
  })
}

function served(list: readonly Model[], suffix = '') {
  return list.map(({ name }) => ({
    name,
    select:
      name === 'customers'
        ? `select *, ${PLACES} from ${name}${suffix} order by position`
        : `from ${name}${suffix}`,
  }))
}

async function scratch(): Promise<WrittenFile> {
  const session = await timed('open the sources', () => openSession(app.pipeline, brand, asOf))
  try {
    return await timed('all models from scratch', async () => {
      await run(session, 'models', models)
      const file = await timed('write the served file', () =>
        writeServed(app.pipeline.lakeDir, session, [...served(marts), NO_MEMBERS]),
      )
      written.push(file)
      return file
    })
  } finally {
    await session.close()
  }
}

async function tick(base: WrittenFile): Promise<void> {
  const session = await openSession(app.pipeline, brand, asOf)
  const { duck } = session
  try {
    await runModels(
      duck.connection,
      models.filter(({ layer }) => layer === 'staging'),
    )
    await attachGeneration(duck, app.pipeline.lakeDir, {
      generation: 1,
      base_path: base.path,
      changes_path: null,
    })
    await duck.run(`create table touched as
      select customer from published.customers order by hash(customer) limit ${Math.trunc(Number(values.touched))}`)
    await duck.run('create table replaced as from touched')
    await timed(`a tick that touches ${values.touched} customers`, async () => {
      await restrict(duck, await rootsOf(duck, models))
      await run(
        session,
        'models by customer',
        marts.filter(({ by }) => by),
      )
      await timed('models of everyone', () => mergeMarts(duck, models))
      const file = await timed('write the changes', () =>
        writeChanges(
          app.pipeline.lakeDir,
          session,
          served(
            marts.filter(({ by }) => by),
            '_touched',
          ),
          served(marts.filter(({ by }) => !by)),
        ),
      )
      written.push(file)
    })
  } finally {
    await session.close()
  }
}
