import { assignSubjects } from '../../identity/subject.ts'
import { literal } from '../../store/duckdb.ts'
import { statement } from '../../store/sqlfile.ts'
import { identitiesOf, inStoreTurn, writeChunks } from './chunks.ts'
import { erasedRows, marked } from './erased.ts'
import type { ImportRun, Written } from './file.ts'

/** Writes what has one row in the file and one in its table: products, checkouts, subscriptions. */
export const importRecords =
  (noun: 'product' | 'checkout' | 'subscription') =>
  async (run: ImportRun): Promise<Written> => {
    const { duck, brand, mapped, storePlatformDomain } = run
    await duck.run(`set variable currency_code = ${literal(brand.currency_code)}`)
    await duck.run(statement('duckdb', noun === 'product' ? 'import_product_ready' : 'import_record_ready'))
    const saysWhen = mapped.some(({ target }) => target === 'updated_at')
    return writeChunks(run, `import_${noun}_chunk`, ({ rows, identities }) =>
      inStoreTurn(run, async (tx) => {
        const args: unknown[] = [brand.id, rows, saysWhen]
        if (identities !== undefined) {
          const named = identitiesOf(identities, new Date())
          if (noun === 'checkout') args[1] = marked(rows, await erasedRows(tx, run, named))
          args.push([
            ...(await assignSubjects(tx, brand.id, named, { storePlatformDomain, source: 'import' })),
          ])
        }
        return (await tx.unsafe(statement('postgres', `import_${noun}s`), [...args, false] as never[])).count
      }),
    )
  }
