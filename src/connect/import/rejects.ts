import { randomUUID } from 'node:crypto'
import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fail } from '../../errors.ts'
import type { Brand } from '../../op.ts'
import { type Duck, identifier, literal } from '../../store/duckdb.ts'
import type { Column, Source } from './read.ts'
import type { ImportKind } from './targets.ts'

/** What is imported: of one file each brand has refused rows of its own, and so has each kind. */
interface Of {
  file: string
  brand: Pick<Brand, 'shop_domain'>
  kind: ImportKind
}

/**
 * Where the refused rows go: beside the file, or into a new folder among the temporary ones where that cannot be written.
 * Looked at before anything is imported; `read` are files that the import reads, which they must not replace.
 */
export function rejectsPath(
  { file, brand, kind }: Of,
  given: string | undefined,
  read: readonly string[],
): string {
  const folder = dirname(resolve(file))
  const name = `${basename(file)}.${brand.shop_domain}.${kind}.rejects.ndjson`
  if (given === undefined && !canWrite(folder)) return join(tmpdir(), `recoup-rejects-${randomUUID()}`, name)
  const path = given === undefined ? join(folder, name) : resolve(given)
  if (!canWrite(dirname(path)))
    throw fail('bad_request', `${path}: the folder of the rejects file cannot be written.`)
  const there = statSync(path, { throwIfNoEntry: false })
  if (!there) return path
  if (!there.isFile() || !canWrite(path))
    throw fail('bad_request', `${path}: the rejects file cannot be written: it is no file, or read-only.`)
  if (read.some((one) => isSame(there, statSync(one, { throwIfNoEntry: false }))))
    throw fail('bad_request', `${path}: the rejects file must not be a file that the import reads.`)
  return path
}

/** Also by another name, through a link. */
const isSame = (one: Stats, other: Stats | undefined) => one.ino === other?.ino && one.dev === other.dev

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
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
  { columns }: Source,
  path: string,
  beforeWriting: () => Promise<unknown>,
): Promise<number> {
  const [found] = await duck.rows<{ rows: number }>(
    'select (select count(*) from fault) + (select count(*) from broken) as rows',
  )
  if (!found?.rows) return 0
  await beforeWriting()
  await makePrivate(path)
  await duck.run(`copy (
    select n as "row", null::varchar as field, null::varchar as value, reason, to_json(data) as data from broken
    union all
    select row_of(fault.n) as "row", field, value, reason, to_json(${struct(columns)}) as data
    from fault join source on source.__row = fault.n
    order by "row"
  ) to ${literal(path)} (format json, array false, use_tmp_file false)`)
  return found.rows
}

/** Readable for its owner alone from the first byte; what is written into it then keeps that. */
async function makePrivate(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await rm(path, { force: true })
  await writeFile(path, '', { flag: 'wx', mode: 0o600 })
}

const struct = (columns: readonly Column[]) =>
  `{${columns.map(({ name, type }) => `${literal(name)}: ${shown(`source.${identifier(name)}`, type)}`).join(', ')}}`

// NaN has no JSON.
const shown = (value: string, type: string) =>
  /^(DOUBLE|FLOAT)$/.test(type) ? `case when isfinite(${value}) then ${value} end` : value
