import { fail } from '../../errors.ts'
import type { Duck } from '../../store/duckdb.ts'
import { pick } from './cast.ts'
import type { ImportRun } from './file.ts'
import type { Source } from './read.ts'

/**
 * Makes the table `broken`, of rows whose form is broken, and the macro `row_of`, the number in the file of a row of
 * `source`. The source is to be read through before.
 */
export async function findBroken(duck: Duck, { broken, skipsBroken }: Source): Promise<void> {
  await duck.run(
    `create table broken as select n, reason, data, row_number() over (order by n) as k from (${broken})`,
  )
  // n - k rows stand before the broken row k.
  const place = skipsBroken ? 'nth + (select count(*) from broken where n - k < nth)' : 'nth'
  await duck.run(`create macro row_of(nth) as ${place}`)
}

/**
 * Makes the table `broken_part` of (n, external_id): which records the broken rows are a part of. Throws `bad_request` where
 * that cannot be made out and records are `gathered` from several rows, since any of them might lack one then.
 */
export async function attributeBroken(
  { duck, source, file, mapped }: ImportRun,
  kind: 'orders' | 'refunds',
  gathered: boolean,
): Promise<void> {
  const id = mapped.filter(({ target }) => target === 'external_id')
  await duck.run(
    pick({
      into: 'broken_part',
      from: `(${source.remains})`,
      row: '__row',
      targets: { external_id: { type: 'id', what: 'of the record that it is a part of' } },
      mapped: id.map((column) => ({ ...column, expression: `try(${column.expression}\n)` })),
    }),
  )
  const [lost] = await duck.rows<{ n: number | null; reason: string }>(
    `select min(n) as n, min_by(reason, n) as reason from broken
    where n not in (select n from broken_part where external_id is not null)`,
  )
  if (gathered && lost?.n != null)
    throw fail(
      'bad_request',
      `${file}: row ${lost.n} is broken (${lost.reason}), and of which of the ${kind} it is a part cannot be made out: mend it or take it out.`,
    )
}
