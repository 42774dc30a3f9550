import { assignSubjects } from '../../identity/subject.ts'
import { literal } from '../../store/duckdb.ts'
import { statement } from '../../store/sqlfile.ts'
import { attributeBroken } from './broken.ts'
import { identitiesOf, inStoreTurn, writeChunks } from './chunks.ts'
import type { ImportRun, Written } from './file.ts'

/** Makes refunds of the table `picked`, one from all rows that share an external id, and writes them. */
export async function importRefunds(run: ImportRun): Promise<Written> {
  const { duck, brand, storePlatformDomain } = run
  await duck.run(`set variable currency_code = ${literal(brand.currency_code)}`)
  await attributeBroken(run, 'refunds', true)
  for (const name of ['import_refund_faults', 'import_whole_faults', 'import_refund_ready'])
    await duck.run(statement('duckdb', name))
  return writeChunks(run, 'import_refund_chunk', ({ rows, identities = '[]' }) =>
    inStoreTurn(run, async (tx) => {
      const named = identitiesOf(identities, new Date())
      const subjects = await assignSubjects(tx, brand.id, named, { storePlatformDomain, source: 'import' })
      const args = [brand.id, rows, [...subjects]]
      return (await tx.unsafe(statement('postgres', 'import_refunds'), args as never[])).count
    }),
  )
}
