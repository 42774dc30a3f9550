import { fail } from '../../errors.ts'
import { assignSubjects } from '../../identity/subject.ts'
import { literal } from '../../store/duckdb.ts'
import type { Transaction } from '../../store/postgres.ts'
import { statement } from '../../store/sqlfile.ts'
import { attributeBroken } from './broken.ts'
import { pick } from './cast.ts'
import { loadEmails, loadPhones } from './channels.ts'
import { identitiesOf, inStoreTurn, writeChunks } from './chunks.ts'
import { erasedRows, marked } from './erased.ts'
import type { ImportRun, Written } from './file.ts'
import { LINE_TARGETS } from './targets.ts'

/** Makes orders of the table `picked`, one from all rows that share an external id, and writes them. */
export async function importOrders(run: ImportRun): Promise<Written> {
  await readOrders(run)
  const { postgres, brand, storePlatformDomain, mapped } = run
  const store = await postgres.forBrand(brand.id).maybe('store_connection_of')
  const saysWhen = mapped.some(({ target }) => target === 'updated_at')
  return writeChunks(run, 'import_order_chunk', ({ rows, lines, identities = '[]' }) =>
    inStoreTurn(run, async (tx) => {
      const named = identitiesOf(identities, new Date())
      const subjects = await assignSubjects(tx, brand.id, named, { storePlatformDomain, source: 'import' })
      const given = marked(rows, await erasedRows(tx, run, named))
      const args = [brand.id, given, lines, [...subjects], saysWhen, false]
      const written = await tx.unsafe<Imported[]>(statement('postgres', 'import_orders'), args as never[])
      if (store) await settleRefunds(tx, brand.id, written)
      return written.count
    }),
  )
}

interface Imported {
  external_id: string
  has_refunds: boolean
}

/** The store may have told of refunds that a file does not know of. */
async function settleRefunds(tx: Transaction, brandId: string, written: readonly Imported[]): Promise<void> {
  const ids = written.filter(({ has_refunds }) => has_refunds).map(({ external_id }) => external_id)
  const nothingNew = ids.map(() => null)
  const args = [brandId, ids, nothingNew, nothingNew, nothingNew, nothingNew, nothingNew]
  if (ids.length) await tx.unsafe(statement('postgres', 'store_orders_settle'), args as never[])
}

async function readOrders(run: ImportRun): Promise<void> {
  const { duck, brand, mapped } = run
  const isMapped = (test: (target: string) => boolean) => mapped.some(({ target }) => test(target))
  const perLine = isMapped((target) => target.startsWith('line.'))
  const nested = isMapped((target) => target === 'lines')
  if (perLine && nested) {
    throw fail(
      'bad_request',
      'fields.lines: map either lines (one row per order) or line.* (one row per line), not both.',
    )
  }
  if (!perLine && !nested && !isMapped((target) => target === 'total')) {
    throw fail(
      'bad_request',
      'fields.total: map total, or the lines that it is the sum of (lines or line.*).',
    )
  }
  if (!perLine) await duck.run(statement('duckdb', 'import_order_versions'))
  if (nested) {
    for (const name of ['import_order_elements', 'import_order_nested_faults'])
      await duck.run(statement('duckdb', name))
    await duck.run(
      pick({
        into: 'line_read',
        from: 'element',
        row: 'n',
        carry: ['external_id', 'pos'],
        targets: LINE_TARGETS,
        mapped: Object.keys(LINE_TARGETS).map((target) => ({
          target,
          expression: `entry -> '$.${target}'`,
          type: 'JSON',
        })),
        place: `'lines[' || pos || '].'`,
      }),
    )
  } else await duck.run(statement('duckdb', 'import_order_flat_lines'))
  await attributeBroken(run, 'orders', perLine)
  for (const name of ['import_order_lines', 'import_order_faults', 'import_whole_faults'])
    await duck.run(statement('duckdb', name))
  await loadEmails(duck)
  await loadPhones(duck, brand.default_phone_region)
  await duck.run(`set variable currency_code = ${literal(brand.currency_code)}`)
  await duck.run(statement('duckdb', 'import_order_ready'))
}
