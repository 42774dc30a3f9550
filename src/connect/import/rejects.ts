import { accessSync, constants } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fail } from '../../errors.ts'
import { type Duck, literal } from '../../store/duckdb.ts'
import { type Column, identifier, type Source } from './read.ts'

/** Where the refused rows go: beside the file, or in the temporary folder where that cannot be written. */
export function rejectsPath(file: string, given: string | undefined): string {
  if (given !== undefined) {
    if (!canWrite(dirname(resolve(given))))
      throw fail('bad_request', `${given}: the folder of the rejects file cannot be written.`)
    return resolve(given)
  }
  const folder = dirname(resolve(file))
  return join(canWrite(folder) ? folder : tmpdir(), `${basename(file)}.rejects.ndjson`)
}

function canWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Writes every refused row as one NDJSON line { row, field, value, reason, data }; how many there are. `beforeWriting`
 * notes where, so that an erasure finds the file.
 */
export async function writeRejects(
  duck: Duck,
  source: Source,
  path: string,
  beforeWriting: () => Promise<unknown>,
): Promise<number> {
  await duck.run(
    `create table broken as select n, reason, data, row_number() over (order by n) as k from (${source.broken})`,
  )
  const [found] = await duck.rows<{ rows: number }>(
    'select (select count(*) from fault) + (select count(*) from broken) as rows',
  )
  if (!found?.rows) return 0
  await beforeWriting()
  // n - k rows stand before the broken row k.
  const place = (n: string) =>
    source.skipsBroken ? `${n} + (select count(*) from broken where broken.n - k < ${n})` : n
  await duck.run(`copy (
    select n as "row", null::varchar as field, null::varchar as value, reason, to_json(data) as data from broken
    union all
    select
      ${place('fault.n')} as "row", field, value,
      case when blamed is null then reason
        else 'row ' || (${place('blamed')}) || ' of this order is refused, hence the whole order: ' || reason end as reason,
      to_json(${struct(source.columns)}) as data
    from fault join source on source.__row = fault.n
    order by "row"
  ) to ${literal(path)} (format json, array false)`)
  return found.rows
}

const struct = (columns: readonly Column[]) =>
  `{${columns.map(({ name, type }) => `${literal(name)}: ${shown(`source.${identifier(name)}`, type)}`).join(', ')}}`

// NaN has no JSON.
const shown = (value: string, type: string) =>
  /^(DOUBLE|FLOAT)$/.test(type) ? `case when isfinite(${value}) then ${value} end` : value
