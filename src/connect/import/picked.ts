import { fail } from '../../errors.ts'
import { type Duck, isOutOfMemory } from '../../store/duckdb.ts'
import { statement } from '../../store/sqlfile.ts'
import { pick } from './cast.ts'
import type { Mapped, Mapping } from './mapping.ts'
import { EXTRA, withExtra } from './properties.ts'
import { firstLine } from './read.ts'
import { type ImportKind, TARGETS } from './targets.ts'

/** Makes `picked`, the rows as typed columns, and `fault`, what is wrong with some of them. */
export async function readRows(
  duck: Duck,
  kind: ImportKind,
  { where }: Mapping,
  mapped: readonly Mapped[],
): Promise<{ read: number; filtered: number }> {
  const targets = kind === 'events' ? { ...TARGETS.events, [EXTRA.target]: EXTRA } : TARGETS[kind]
  const columns = kind === 'events' ? withExtra(mapped) : mapped
  try {
    await duck.run(pick({ into: 'picked', from: 'source', row: '__row', where, targets, mapped: columns }))
  } catch (cause) {
    if (isOutOfMemory(cause)) throw cause
    const message = `${await failingField(duck, mapped, where)}${firstLine((cause as Error).message)}`
    const help =
      'An expression of the mapping fails on a value: map the column alone, whose bad values are rejected row by row, or use try_cast.'
    throw fail('bad_request', `${message} ${help}`, { cause })
  }
  await duck.run(statement('duckdb', 'import_faults'))
  const [{ read = 0, filtered = 0 } = {}] = await duck.rows<{ read: number; filtered: number }>(
    `select count(*) as read, ${where === undefined ? '0' : '(select count(*) from source) - count(*)'} as filtered from picked`,
  )
  return { read: read - (await dropBlank(duck)), filtered }
}

/** Rows without any value, which spreadsheets leave behind the last one, are none. Returns how many there were. */
async function dropBlank(duck: Duck): Promise<number> {
  const [fault] = await duck.rows('select 1 from fault limit 1')
  if (!fault) return 0
  await duck.run(`
    create table blank as
    select __row as n from source semi join fault on fault.n = __row
    where concat_ws('', *columns(* exclude (__row))) = '';
    delete from picked where n in (from blank);
    delete from fault where n in (from blank)`)
  const [blank] = await duck.rows<{ rows: number }>('select count(*) as rows from blank')
  return blank?.rows ?? 0
}

/** Which field of the mapping it is whose expression fails on a value, or `where`. */
async function failingField(
  duck: Duck,
  mapped: readonly Mapped[],
  where: string | undefined,
): Promise<string> {
  const expressions = mapped.map(({ target, expression }) => [`fields.${target}`, expression])
  for (const [place, expression] of [...(where === undefined ? [] : [['where', where]]), ...expressions])
    try {
      const asked = place === 'where' ? `case when (${expression}\n) then 1 end` : `(${expression}\n)`
      await duck.rows(`select count(hash(${asked})) from source`)
    } catch {
      return `${place}: `
    }
  return ''
}
