import type { DuckDBConnection } from '@duckdb/node-api'
import type { Serving } from '../lake/serving.ts'
import type { Duck } from '../store/duckdb.ts'
import type { Model } from './graph.ts'

export type Materialization = 'table' | 'view'

/** What became of one model; a view has no rows of its own. */
export interface Step {
  name: string
  materialized: Materialization
  rows: number | null
  ms: number
}

export interface RunOptions {
  /** Default: marts that are stored become tables, all other models views. */
  materialize?: (model: Model) => Materialization
  /** A file that tables are computed into; the models after it read them there. */
  into?: Serving
  onStep?: (step: Step) => void
}

/** Staging as views: stg_events as a table would copy the largest relation for a scan of few of its columns. */
const storedOrNot = ({ stored }: Model): Materialization => (stored ? 'table' : 'view')

/**
 * Creates the models, given in dependency order, in the instance of a connection that already has the sources
 * and `params`; replaces those of an earlier run. A failure names the model's file and leaves the later ones undone.
 */
export async function runModels(
  connection: DuckDBConnection,
  models: readonly Model[],
  { materialize = storedOrNot, into, onStep }: RunOptions = {},
): Promise<Step[]> {
  const steps: Step[] = []
  for (const model of models) {
    const step = await runModel(connection, model, materialize(model), into)
    steps.push(step)
    onStep?.(step)
  }
  return steps
}

/** The same of models that go into no file, in one text: to plan them one by one takes longer. */
export async function runTogether(
  duck: Pick<Duck, 'run' | 'connection'>,
  models: readonly Model[],
  materialize: (model: Model) => Materialization,
): Promise<void> {
  try {
    await duck.run(models.map((model) => createSql(model, materialize(model))).join('\n;\n'))
  } catch {
    // One by one whichever fails is named.
    await runModels(duck.connection, models, { materialize })
  }
}

/** Begins on the first line of the model: lines in what DuckDB says are those of the file. */
const createSql = ({ name, sql }: Model, materialized: Materialization) =>
  `create or replace ${materialized} ${name} as ${sql}`

async function runModel(
  connection: DuckDBConnection,
  model: Model,
  materialized: Materialization,
  into?: Serving,
): Promise<Step> {
  const started = performance.now()
  const { name, plain = [] } = model
  const made = (rows: number | null): Step => ({ name, materialized, rows, ms: performance.now() - started })
  return await naming(model, async () => {
    if (materialized === 'table' && into) {
      const rows = await into.add([{ name, select: model.sql, plain }])
      await connection.run(`create or replace view ${name} as from ${into.name}.${name}`)
      return made(rows)
    }
    const result = await connection.run(createSql(model, materialized))
    return made(materialized === 'table' ? Number((await result.getRows())[0]?.[0] ?? 0) : null)
  })
}

/** A failure of work that runs a model names the model's file. */
export async function naming<T>({ file }: Pick<Model, 'file'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new Error(`${file}: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}
