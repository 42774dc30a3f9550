import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fail } from '../../errors.ts'
import { type Duck, identifier, isOutOfMemory, literal } from '../../store/duckdb.ts'
import { COMPRESSED } from './compressed.ts'
import { csvRemains, ndjsonRemains } from './remains.ts'
import { startProblem } from './start.ts'

export interface Column {
  name: string
  /** DuckDB type. */
  type: string
}

/** A file as the view `source`: its columns and `__row`, the number of the row (of the line, for NDJSON) from 1. */
export interface Source {
  columns: Column[]
  /** Names of the file that DuckDB must be let open: its own, and the pattern that only it fits. */
  paths: string[]
  /** Rows whose form is broken, as SQL of (n, reason, data); complete once the view was read through. */
  broken: string
  /** What can be made out of `data` of the table `broken`, as SQL of a relation like the view; one row per guess. */
  remains: string
  /** `__row` leaves broken rows out. */
  skipsBroken: boolean
}

const ROW = '__row'

export const firstLine = (message: string) => message.split('\n', 1)[0] ?? message

/**
 * Opens CSV (.csv, .tsv, .txt), NDJSON (.ndjson, .jsonl, .json) or Parquet, the text formats also as .gz or .zst.
 * Values of CSV stay text, so that no leading zero of an id is lost; nested values of NDJSON stay JSON.
 */
export async function openSource(duck: Duck, file: string): Promise<Source> {
  const path = resolve(file)
  const there = statSync(path, { throwIfNoEntry: false })
  if (!there) throw fail('bad_request', `${file}: there is no such file.`)
  if (!there.isFile()) throw fail('bad_request', `${file}: is not a file.`)
  if (there.size === 0) throw fail('bad_request', `${file}: is empty.`)
  const [, ending = '', compressed] = /\.(\w+)(?:\.(gz|zst))?$/.exec(path.toLowerCase()) ?? []
  const open = FORMATS[ending]
  if (!open) {
    throw fail(
      'bad_request',
      `${file}: the name must end in ${Object.keys(FORMATS)
        .map((name) => `.${name}`)
        .join(', ')}; those of texts also in .gz or .zst.`,
    )
  }
  await COMPRESSED[compressed ?? '']?.(path).catch((cause: Error) => {
    throw fail('bad_request', `${file}: is cut off or damaged: ${cause.message}.`, { cause })
  })
  const problem = ending === 'parquet' ? undefined : await startProblem(path, compressed, open === openCsv)
  if (problem) throw fail('bad_request', `${file}: ${problem}`)
  const pattern = path.replace(/[*?[]/g, '[$&]')
  try {
    const { broken, remains } = await open(duck, literal(pattern), file)
    const rows = await duck.rows<{ column_name: string; column_type: string }>('describe source')
    const columns = rows
      .filter(({ column_name }) => column_name !== ROW)
      .map((row) => ({ name: row.column_name, type: row.column_type }))
    const [only, ...others] = columns
    // Quotes hid the delimiter.
    if (open === openCsv && others.length === 0 && /[,;|\t]/.test(only?.name ?? ''))
      throw fail('bad_request', `${file}: cannot be read: ${NO_FORM}`)
    return {
      broken,
      remains: remains(columns),
      skipsBroken: open === openCsv,
      columns,
      paths: [path, pattern],
    }
  } catch (cause) {
    if ((cause as Error).name === 'Failure' || isOutOfMemory(cause)) throw cause
    throw fail('bad_request', `${file}: cannot be read: ${reasonOf((cause as Error).message)}`, { cause })
  }
}

const NO_FORM =
  'its form cannot be made out. Do all of its lines end alike, are all quotes closed, and those within a value doubled?'

/** What a person can do something about, of what DuckDB says. */
function reasonOf(message: string): string {
  if (message.includes('Error when sniffing file')) return NO_FORM
  const line = /CSV Error on Line: (\d+)/.exec(message)?.[1]
  const reason = message.split('\nPossible Solution:', 1)[0]?.trim().split('\n').at(-1)
  return line === undefined ? firstLine(message) : `line ${line}: ${reason}`
}

type Broken = { broken: string; remains(columns: readonly Column[]): string }
type Open = (duck: Duck, path: string, file: string) => Promise<Broken>

// DuckDB makes its buffers sixteen times the longest line unless it is told otherwise.
const LONG_LINES = 'max_line_size = 8388608, buffer_size = 16777216'

// DuckDB guesses the form from the first 20,480 rows, and what comes later would be misread: quotes taken for a part of
// their value, rows whose id begins with # for comments. Only the delimiter and the ends of lines are left to it.
const CSV_FORM = `header = true, all_varchar = true, quote = '"', escape = '"', comment = ''`

const NOTHING_BROKEN: Broken = {
  broken: 'select 0::bigint as n, null::varchar as reason, null::varchar as data where false',
  remains: () => 'from source where false',
}

async function openParquet(duck: Duck, path: string): Promise<Broken> {
  await duck.run(`create view source as
    select file_row_number + 1 as ${ROW}, * exclude (file_row_number) from read_parquet(${path}, file_row_number = true)`)
  return NOTHING_BROKEN
}

async function openCsv(duck: Duck, path: string): Promise<Broken> {
  await duck.run(`create view source as
    select row_number() over () as ${ROW}, *
    from read_csv(${path}, ${CSV_FORM}, store_rejects = true, ${LONG_LINES})`)
  // One line can have several errors and be read more than once. `line` counts records, the header being the first.
  return {
    broken:
      'select line::bigint - 1 as n, min_by(error_message, column_idx) as reason, any_value(csv_line) as data from reject_errors group by line',
    remains: csvRemains,
  }
}

async function openNdjson(duck: Duck, path: string, file: string): Promise<Broken> {
  // Lines are read as text first: `ignore_errors` of read_ndjson would make nulls of what is broken.
  await duck.run('create table nan_line (n bigint)')
  await duck.run(`create view ndjson as
    select n, line, left(ltrim(line), 1) = '{' and json_valid(line) and n not in (from nan_line) as is_object
    from (
      select row_number() over () as n, line
      from read_csv(${path}, auto_detect = false, header = false, columns = {'line': 'VARCHAR'}, quote = '', escape = '',
        delim = '\x01', ${LONG_LINES}, strict_mode = false)
    )
    where line is not null and ltrim(line) <> ''`)
  const [first] = await duck.rows<{ start: string }>(
    'select left(ltrim(line), 1) as start from ndjson limit 1',
  )
  if (first?.start === '[')
    throw fail('bad_request', `${file}: holds a JSON array; NDJSON with one object per line is wanted.`)
  await refuseNaN(duck)
  const keys = await keysOf(duck, file)
  if (keys.length === 0)
    throw fail(
      'bad_request',
      `${file}: holds no JSON object with a field; NDJSON with one object per line is wanted.`,
    )
  const fields = await fieldsOf(duck, keys)
  const names = [...fields.keys()].map((name) => `object.${identifier(name)}`).join(', ')
  const structure = literal(JSON.stringify(Object.fromEntries(fields)))
  await duck.run(`create view source as
    select n as ${ROW}, ${names} from (select n, json_transform(line, ${structure}) as object from ndjson where is_object)`)
  return {
    broken: `select n, 'is not a JSON object' as reason, line as data from ndjson where not is_object`,
    remains: () => ndjsonRemains(structure),
  }
}

async function keysOf(duck: Duck, file: string): Promise<string[]> {
  const rows = await duck.rows<{ key: string }>(
    'select distinct unnest(keys) as key from (select distinct json_keys(line) as keys from ndjson where is_object)',
  )
  // SQL has no name for a field without one.
  const keys = rows.map(({ key }) => key).filter((key) => key !== '')
  const named = new Map<string, string>()
  for (const key of keys) {
    const other = named.get(key.toLowerCase())
    // They are one name to DuckDB, which would mix their values up.
    if (other !== undefined)
      throw fail(
        'bad_request',
        `${file}: has fields whose names differ in capitals only, "${other}" and "${key}": give them one name, or two.`,
      )
    named.set(key.toLowerCase(), key)
  }
  return keys
}

/** The fields with a type that holds all of their values; JSON for what is nested or mixed. */
async function fieldsOf(duck: Duck, keys: readonly string[]): Promise<Map<string, string>> {
  const pointers = keys.map((key) => literal(`/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`))
  const rows = await duck.rows<{ types: (string | null)[] }>(
    `select distinct json_type(line, [${pointers.join(', ')}]) as types from ndjson where is_object`,
  )
  const types = keys.map((_, at) => commonType(new Set(rows.map((row) => row.types[at] ?? 'NULL'))))
  const isRounded = await longIntegers(duck, pointers, types)
  return new Map(keys.map((key, at) => [key, isRounded[at] ? 'JSON' : (types[at] as string)]))
}

/** Which of the fields of doubles hold integers such as ids: a double would round them. */
async function longIntegers(
  duck: Duck,
  pointers: readonly string[],
  types: readonly string[],
): Promise<boolean[]> {
  if (!types.includes('DOUBLE')) return []
  const found = pointers.map((pointer, at) =>
    types[at] === 'DOUBLE'
      ? `coalesce(bool_or(regexp_matches(line ->> ${pointer}, '^-?\\d{16,}$')), false)`
      : 'false',
  )
  const [row] = await duck.rows<{ found: boolean[] }>(
    `select [${found.join(', ')}] as found from ndjson where is_object`,
  )
  return row?.found ?? []
}

function commonType(types: Set<string>): string {
  types.delete('NULL')
  const all = (...names: string[]) => [...types].every((type) => names.includes(type))
  if (types.size === 0) return 'JSON'
  if (all('VARCHAR')) return 'VARCHAR'
  if (all('BOOLEAN')) return 'BOOLEAN'
  if (all('UBIGINT', 'BIGINT')) return 'HUGEINT'
  return all('UBIGINT', 'BIGINT', 'DOUBLE') ? 'DOUBLE' : 'JSON'
}

/** DuckDB takes NaN and Infinity for JSON; nobody else does. */
async function refuseNaN(duck: Duck): Promise<void> {
  // The plain words first: the expression alone takes three times as long.
  const words = ['nan', 'NaN', 'NAN', 'inf', 'Inf', 'INF'].map((word) => `contains(line, '${word}')`)
  const rows = await duck.rows<{ n: number; line: string }>(
    `select n, line from ndjson where is_object and (${words.join(' or ')})
      and regexp_matches(line, '(?i)[:,\\[]\\s*-?(nan|inf|infinity)\\s*[,}\\]]')`,
  )
  const bad = rows.filter(({ line }) => !isJson(line))
  if (bad.length)
    await duck.run(`insert into nan_line values ${bad.map(({ n }) => `(${Number(n)})`).join(', ')}`)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const FORMATS: Readonly<Record<string, Open>> = {
  csv: openCsv,
  tsv: openCsv,
  txt: openCsv,
  ndjson: openNdjson,
  jsonl: openNdjson,
  json: openNdjson,
  parquet: openParquet,
}
