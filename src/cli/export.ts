import { access, chmod, constants, copyFile, mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, extname, join, resolve } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Session } from '../lake/session.ts'
import { causeOf } from '../model/failing.ts'
import { loadReadable, type Model, type Readable } from '../model/graph.ts'
import { didYouMean } from '../model/nearest.ts'
import { openReading } from '../segment/reading.ts'
import { identifier, literal } from '../store/duckdb.ts'
import { brandFolder } from '../store/lake.ts'
import { command, required, text, timeOption, UsageError } from './command.ts'
import { brandOrOnly, brandUnlessOnly } from './of-brand.ts'
import type { Progress } from './progress.ts'

const FORMATS: Readonly<Record<string, string>> = {
  '.parquet': 'format parquet, compression zstd',
  '.csv': 'format csv, header',
}

/** Percentages of what DuckDB has written are asked for this often. */
const LOOK_MS = 250

function checkModel(name: string, { models, leftOut }: Readable): Model {
  const model = models.find((one) => one.name === name)
  if (model) return model
  const broken = leftOut.get(name)
  if (broken) throw new UsageError(broken.message)
  const known = models.map((one) => one.name)
  throw new UsageError(
    `--model: there is no model "${name}".${didYouMean(name, known)} Known: ${known.sort().join(', ')}`,
  )
}

async function checkTarget(path: string): Promise<{ target: string; format: string }> {
  const target = resolve(path)
  const format = FORMATS[extname(target).toLowerCase()]
  if (!format) throw new UsageError(`--to must end in ${Object.keys(FORMATS).join(' or ')}, not "${path}"`)
  const folder = await stat(dirname(target)).catch(() => null)
  if (!folder?.isDirectory()) throw new UsageError(`--to: there is no folder ${dirname(target)}`)
  if ((await stat(target).catch(() => null))?.isDirectory())
    throw new UsageError(`--to: ${target} is a folder, not a file`)
  await access(dirname(target), constants.W_OK).catch(() => {
    throw new UsageError(`--to: nothing can be written into ${dirname(target)}`)
  })
  return { target, format }
}

/** Text has no lists and structures: there they are JSON. */
async function columnsFor({ duck }: Session, model: string, format: string): Promise<string> {
  if (!format.startsWith('format csv')) return '*'
  const columns = await duck.rows<{ column_name: string; column_type: string }>(`describe ${model}`)
  const nested = columns.filter(({ column_type: type }) => type.endsWith('[]') || /^(STRUCT|MAP)/.test(type))
  return nested.length === 0
    ? '*'
    : `* replace (${nested.map(({ column_name: name }) => `to_json(${identifier(name)}) as ${identifier(name)}`).join(', ')})`
}

/** Written in the brand's folder, where the session may, in the order of the grain, and moved when it is whole. */
async function write(
  session: Session,
  { name, grain }: Model,
  to: { target: string; format: string },
  shown: Progress,
) {
  const { duck, lakeDir, manifest } = session
  const written = join(lakeDir, brandFolder(manifest.brandId), 'tmp', `export-${uuidv7()}`)
  const unfinished = `${to.target}.${process.pid}.part`
  const look = setInterval(() => {
    const { percentage } = duck.connection.progress
    if (percentage > 0) shown.update(Math.floor(percentage), 100)
  }, LOOK_MS)
  try {
    await mkdir(dirname(written), { recursive: true })
    const [copied] = await duck.rows<{ Count: number }>(
      `copy (select ${await columnsFor(session, name, to.format)} from ${name} order by ${grain.map(identifier).join(', ')})
       to ${literal(written)} (${to.format})`,
    )
    // Customers, for its owner alone, unless others were let read the file that it replaces.
    await chmod(written, (await stat(to.target).catch(() => null))?.mode ?? 0o600)
    await copyFile(written, unfinished)
    await rename(unfinished, to.target)
    shown.update(100, 100)
    return { rows: copied?.Count ?? 0, bytes: (await stat(to.target)).size }
  } finally {
    clearInterval(look)
    await rm(written, { force: true })
    await rm(unfinished, { force: true })
  }
}

export const exportCommands = [
  command({
    name: 'export',
    what: 'Write a model of a brand to a file; one that is there is replaced when the new one is whole',
    options: {
      model: {
        type: 'string',
        required: true,
        placeholder: 'MODEL',
        what: 'A model of docs/models.md, such as rfm',
      },
      to: {
        type: 'string',
        required: true,
        placeholder: 'FILE',
        what: 'Ends in .parquet or .csv, which is the format',
      },
      brand: brandUnlessOnly,
      'as-of': { type: 'string', placeholder: 'TIME', what: 'The model as of this instant (default: now)' },
    },
    stops: true,
    run: async ({ app: open, values, progress, stop: { signal } }) => {
      const readable = await loadReadable()
      const model = checkModel(required(values, 'model'), readable)
      const to = await checkTarget(required(values, 'to'))
      const past = timeOption(values, 'as-of')
      const app = await open()
      const brand = await brandOrOnly(app, text(values, 'brand'))
      const shown = progress(`export ${model.name}`)
      const session = await openReading(app.pipeline, brand, past, { counted: true, signal })
      try {
        return {
          model: model.name,
          file: to.target,
          as_of: session.asOf.toISOString(),
          ...(await write(session, model, to, shown)),
        }
      } catch (error) {
        throw await causeOf(error, session.duck, [model.name], readable.models)
      } finally {
        shown.end()
        await session.close()
      }
    },
    text: ({ model, file, rows, bytes, as_of }) =>
      `${file}: ${rows} rows of ${model} as of ${as_of}, ${bytes} bytes`,
  }),
]
