import { accessSync, constants } from 'node:fs'
import type { App } from './app.ts'
import { movedProblem } from './lake/moved.ts'
import { lakeProblem } from './lake/owner.ts'
import { schemaOf } from './store/migrate.ts'
import { readOnlyReason } from './store/read-only.ts'

/** What keeps the service from its work, in words; empty when it is ready. */
export async function missingOf({ postgres, pipeline, config }: App): Promise<string[]> {
  const missing: string[] = []
  try {
    const { pending } = await schemaOf(postgres.sql)
    if (pending.length) missing.push(`migrations ${pending.join(', ')}: run recoup migrate`)
    const readOnly = await readOnlyReason(postgres)
    if (readOnly) missing.push(`postgres: ${readOnly}`)
  } catch {
    missing.push('postgres: does not answer')
  }
  try {
    accessSync(config.lakeDir, constants.W_OK)
  } catch {
    missing.push(`lake: ${config.lakeDir} is not writable`)
  }
  if (missing.length) return missing
  for (const problemOf of [lakeProblem, movedProblem]) {
    const problem = await problemOf(pipeline).catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    )
    if (problem) missing.push(`lake: ${problem}`)
  }
  return missing
}
