import { join } from 'node:path'
import type { Config } from './config.ts'
import { errorCode, Failure, fail } from './errors.ts'
import { closePipeline, createPipeline, type Pipeline } from './lake/pipeline.ts'
import { errorFields, log } from './log.ts'
import type { Lock } from './store/embedded/lock.ts'
import { startEmbedded, useFolder } from './store/embedded.ts'
import { closeFolder, makeFolder } from './store/folder.ts'
import { type MigrateOptions, migrate } from './store/migrate.ts'
import { openPostgres, type Postgres } from './store/postgres.ts'

/** The stores of one process, opened from the configuration. */
export interface App {
  config: Config
  postgres: Postgres
  pipeline: Pipeline
  /** Versions of the schema that opening them applied. */
  migrated: string[]
  close(): Promise<void>
}

export interface AppOptions extends MigrateOptions {
  connections?: number
}

export async function openApp(config: Config, options: AppOptions = {}): Promise<App> {
  makeFolder('DATA_DIR', config.dataDir)
  makeFolder('LAKE_DIR', config.lakeDir)
  for (const part of ['brands', 'staging', 'tmp']) closeFolder(join(config.lakeDir, part))
  const embedded = config.databaseUrl === null ? await startEmbedded({ dataDir: config.dataDir }) : null
  const url = config.databaseUrl ?? embedded?.url
  if (!url) throw new Error('neither DATABASE_URL nor the embedded Postgres gave an address')
  embedded?.keepRunning()
  const used = embedded ?? (await marked(config.dataDir))
  try {
    const { applied, unknown } = await migrate(url, options).catch((cause: unknown) => {
      throw unusable(url, cause)
    })
    if (applied.length) log('info', 'migrated', { applied })
    if (unknown.length) log('warn', 'schema_is_newer', { unknown })
    const postgres = openPostgres(url, { max: options.connections ?? 8 })
    const pipeline = createPipeline({
      postgres,
      lakeDir: config.lakeDir,
      storePlatformDomain: config.storePlatformDomain,
      ...config.duckdb,
    })
    return {
      config,
      postgres,
      pipeline,
      migrated: applied,
      close: async () => {
        await closePipeline(pipeline)
        await postgres.close()
        await used?.release()
      },
    }
  } catch (error) {
    await Promise.resolve(used?.release()).catch((cause) =>
      log('error', 'release_failed', errorFields(cause)),
    )
    throw error
  }
}

/** Where it cannot be, as without the command flock, which removal needs as well, the service runs all the same. */
const marked = (dataDir: string): Promise<Lock | null> =>
  useFolder(dataDir).catch((error: unknown) => {
    log('warn', 'data_dir_not_marked', errorFields(error))
    return null
  })

/** What is wrong with the Postgres of DATABASE_URL, without its password. */
function unusable(url: string, cause: unknown): unknown {
  if (cause instanceof Failure || errorCode(cause) === undefined) return cause
  const { host, pathname } = new URL(url)
  const why = cause instanceof Error ? cause.message : String(cause)
  return fail('unavailable', `Postgres at ${host}${pathname} cannot be used: ${why}`, { cause })
}
