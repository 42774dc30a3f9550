import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from '../config.ts'

export const MIGRATIONS = join(CHECKOUT, 'migrations')

/** Versions of the migration files. As the process starts: what comes into the folder later is not of the code that runs. */
export const KNOWN_VERSIONS: readonly string[] = readdirSync(MIGRATIONS)
  .map((file) => /^(\d+)_.+\.sql$/.exec(file)?.[1])
  .filter((version) => version !== undefined)
  .sort()
