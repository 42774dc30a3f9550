import { assignSubjects } from '../../identity/subject.ts'
import { statement } from '../../store/sqlfile.ts'
import { identitiesOf, writeChunks } from './chunks.ts'
import { erasedRows } from './erased.ts'
import type { ImportRun, Written } from './file.ts'
import { loadPhones } from './phones.ts'

/** Writes the customer records of the table `picked`. */
export async function importCustomers(run: ImportRun): Promise<Written> {
  const { postgres, duck, brand, storePlatformDomain } = run
  await loadPhones(duck, brand.default_phone_region)
  await duck.run(statement('duckdb', 'import_customer_ready'))
  let nobody = 0
  const written = await writeChunks(
    run,
    'import_customer_chunk',
    async ({ rows, identities = '[]', numbers = '[]' }) => {
      const { subjects, erased, changed } = await postgres.sql.begin(async (tx) => {
        const named = identitiesOf(identities, new Date())
        const subjects = await assignSubjects(tx, brand.id, named, { storePlatformDomain, source: 'import' })
        const erased = await erasedRows(tx, run, named)
        const [row] = await tx.unsafe<{ changed: number }[]>(statement('postgres', 'import_customers'), [
          brand.id,
          rows,
          [...subjects],
        ] as never[])
        return { subjects, erased, changed: row?.changed ?? 0 }
      })
      for (const [at, n] of (JSON.parse(numbers) as number[]).entries()) {
        if (subjects[at] || erased[at]) continue
        nobody++
        await duck.run(`insert into fault (n, field, value, reason) select n, 'email', email, 'is not an email address, and nothing else names a customer'
        from ready where n = ${Number(n)}`)
      }
      return changed
    },
  )
  return { ...written, unchanged: written.unchanged - nobody }
}
