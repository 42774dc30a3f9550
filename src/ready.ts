import { accessSync, constants } from 'node:fs'
import type { App } from './app.ts'
import { pendingMigrations } from './store/migrate.ts'

/** What keeps the service from its work, in words; empty when it is ready. */
export async function missingOf({ postgres, config }: App): Promise<string[]> {
  const missing: string[] = []
  try {
    const pending = await pendingMigrations(postgres.sql)
    if (pending.length) missing.push(`migrations ${pending.join(', ')}: run recoup migrate`)
  } catch {
    missing.push('postgres: does not answer')
  }
  try {
    accessSync(config.lakeDir, constants.W_OK)
  } catch {
    missing.push(`lake: ${config.lakeDir} is not writable`)
  }
  return missing
}
