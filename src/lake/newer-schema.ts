import { fail } from '../errors.ts'
import { KNOWN_VERSIONS } from '../store/known-versions.ts'
import type { Pipeline } from './pipeline.ts'

/** Throws `conflict` where a newer version has migrated the database: its tables may hold rows that would be passed over. */
export async function refuseNewerSchema({ postgres }: Pick<Pipeline, 'postgres'>): Promise<void> {
  const unknown = await postgres.pipeline.many<{ version: string }>('schema_unknown', [KNOWN_VERSIONS])
  if (unknown.length === 0) return
  const versions = unknown.map(({ version }) => version).join(', ')
  throw fail(
    'conflict',
    `The database was migrated by a newer version (${versions} is not known here): stop this worker, and start one of that version.`,
  )
}
