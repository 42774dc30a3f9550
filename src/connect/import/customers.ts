import { assignSubjects } from '../../identity/subject.ts'
import { statement } from '../../store/sqlfile.ts'
import { loadEmails, loadPhones } from './channels.ts'
import { identitiesOf, inStoreTurn, writeChunks } from './chunks.ts'
import type { ImportRun, Written } from './file.ts'

/** Writes the customer records of the table `picked`. */
export async function importCustomers(run: ImportRun): Promise<Written> {
  const { duck, brand, storePlatformDomain } = run
  await loadEmails(duck)
  await loadPhones(duck, brand.default_phone_region)
  await duck.run(statement('duckdb', 'import_customer_ready'))
  return writeChunks(run, 'import_customer_chunk', ({ rows, identities = '[]' }) =>
    inStoreTurn(run, async (tx) => {
      const named = identitiesOf(identities, new Date())
      const subjects = await assignSubjects(tx, brand.id, named, { storePlatformDomain, source: 'import' })
      const args = [brand.id, rows, [...subjects]]
      const [row] = await tx.unsafe<{ changed: number }[]>(
        statement('postgres', 'import_customers'),
        args as never[],
      )
      return row?.changed ?? 0
    }),
  )
}
