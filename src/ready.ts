import { accessSync, constants } from 'node:fs'
import type { App } from './app.ts'
import { isLakeAway } from './lake/lost.ts'
import { schemaOf } from './store/migrate.ts'

/** What keeps the service from its work, in words; empty when it is ready. */
export async function missingOf({ postgres, pipeline, config }: App): Promise<string[]> {
  const missing: string[] = []
  try {
    const { pending } = await schemaOf(postgres.sql)
    if (pending.length) missing.push(`migrations ${pending.join(', ')}: run recoup migrate`)
  } catch {
    missing.push('postgres: does not answer')
  }
  try {
    accessSync(config.lakeDir, constants.W_OK)
  } catch {
    missing.push(`lake: ${config.lakeDir} is not writable`)
  }
  if (missing.length === 0 && (await isLakeAway(pipeline).catch(() => false)))
    missing.push(
      `lake: ${config.lakeDir} has none of the files of this service: is LAKE_DIR as it was, and mounted?`,
    )
  return missing
}
