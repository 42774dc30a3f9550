import { readFileSync } from 'node:fs'
import { fail } from '../../errors.ts'
import { isObject } from '../../event/exact.ts'
import { type Duck, identifier } from '../../store/duckdb.ts'
import { namesWriter } from '../../store/duckdb-statements.ts'
import { type Column, firstLine } from './read.ts'
import { type ImportKind, TARGETS, targetNamed } from './targets.ts'

/** What an operator writes: target → source column or DuckDB expression, and which rows to take. */
export interface Mapping {
  fields: Readonly<Record<string, string>>
  where?: string
}

/** A target with the expression that fills it and the type that DuckDB gives it. */
export interface Mapped {
  target: string
  expression: string
  type: string
}

/** Reads `{ fields: { target: source }, where }`, or the same flat. */
export function readMapping(path: string): Mapping {
  let text: string
  try {
    // Without a byte order mark.
    text = new TextDecoder().decode(readFileSync(path))
  } catch (cause) {
    throw fail('bad_request', `${path}: the mapping file cannot be read.`, { cause })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw fail('bad_request', `${path}: is not valid JSON: ${(cause as SyntaxError).message}.`, { cause })
  }
  return mappingOf(value, path)
}

function mappingOf(value: unknown, place = 'mapping'): Mapping {
  if (!isObject(value))
    throw fail('bad_request', `${place}: must be a JSON object such as {"fields": {"total": "Amount"}}.`)
  const { where, ...rest } = value
  if (where !== undefined && typeof where !== 'string')
    throw fail('bad_request', `${place}: where: must be a DuckDB condition.`)
  let fields: Record<string, unknown> = rest
  if ('fields' in rest) {
    const [unknown] = Object.keys(rest).filter((key) => key !== 'fields')
    if (unknown)
      throw fail('bad_request', `${place}: "${unknown}" is not known beside fields; known: fields, where.`)
    if (!isObject(rest.fields))
      throw fail('bad_request', `${place}: fields: must be an object of target: source.`)
    fields = rest.fields
  }
  for (const [target, source] of Object.entries(fields)) {
    if (typeof source === 'string' && source.trim()) continue
    throw fail('bad_request', `${place}: fields.${target}: must be a column or a DuckDB expression, as text.`)
  }
  return { fields: fields as Record<string, string>, where }
}

/**
 * Without a mapping, the columns that are named like targets fill them; of targets that none is named like, those that are but
 * for capitals and blanks around them.
 */
export function mappingByName(kind: ImportKind, columns: readonly Column[]): Mapping {
  const isField = (name: string) => Object.hasOwn(TARGETS[kind], targetNamed(kind, name) ?? '')
  const filled = new Set(columns.flatMap(({ name }) => targetNamed(kind, name) ?? []))
  const named = columns.flatMap(({ name }): [field: string, column: string][] => {
    const plain = name.trim().toLowerCase()
    const isPlainly = !isField(name) && isField(plain) && !filled.has(targetNamed(kind, plain) ?? '')
    if (isPlainly) return [[plain, name]]
    return targetNamed(kind, name) === undefined ? [] : [[name, name]]
  })
  if (named.length === 0) {
    const names = columns.map(({ name }) => name)
    throw fail(
      'bad_request',
      `No column of the file is named like a field of ${kind}; give a mapping (--map FILE). Columns: ${names.join(', ')}. Fields: ${Object.keys(TARGETS[kind]).join(', ')}.`,
    )
  }
  return { fields: Object.fromEntries(named) }
}

/** The columns that neither a field nor `where` reads. */
export async function columnsUnread(
  duck: Duck,
  columns: readonly Column[],
  mapped: readonly Mapped[],
  where: string | undefined,
): Promise<string[]> {
  const expressions = [...mapped.map(({ expression }) => expression), ...(where === undefined ? [] : [where])]
  const [tree] = await duck.rows<{ names: string[]; classes: string[] }>(
    `select tree ->> '$..column_names[*]' as names, tree ->> '$..class' as classes
     from (select json_serialize_sql($1::varchar) as tree)`,
    [`select ${expressions.join('\n, ')}`],
  )
  if (tree?.classes.includes('STAR')) return []
  const read = new Set(tree?.names.map((name) => name.toLowerCase()))
  return columns.map(({ name }) => name).filter((name) => !read.has(name.toLowerCase()))
}

/** Checks every target and expression of a mapping against the view `source`. */
export async function bindMapping(
  duck: Duck,
  kind: ImportKind,
  columns: readonly Column[],
  { fields, where }: Mapping,
): Promise<Mapped[]> {
  const mapped: Mapped[] = []
  for (const [name, source] of Object.entries(fields)) {
    const target = targetNamed(kind, name)
    if (target === undefined) {
      const help = await nearest(duck, name, Object.keys(TARGETS[kind]))
      throw fail('bad_request', `fields.${name}: is not a field of ${kind}.${help}`)
    }
    if (mapped.some((other) => other.target === target))
      throw fail('bad_request', `fields.${name}: fills ${target} a second time.`)
    const column = columnNamed(columns, source)
    mapped.push(
      column
        ? { target, expression: identifier(column.name), type: column.type }
        : { target, expression: source, type: await typeOf(duck, source, `fields.${name}`, columns) },
    )
  }
  for (const [target, { required }] of Object.entries(TARGETS[kind])) {
    if (required && !mapped.some((other) => other.target === target)) {
      throw fail(
        'bad_request',
        `fields.${target}: is required for ${kind}: no column of the file is named like it, and no mapping (--map FILE) says which one it is. Columns: ${columns.map(({ name }) => name).join(', ')}.`,
      )
    }
  }
  if (where !== undefined) await typeOf(duck, where, 'where', columns)
  return mapped
}

/** Whether a text is one statement with one value of each row, or none that could be run. */
async function isOneValue(duck: Duck, text: string): Promise<boolean> {
  const [parsed] = await duck.rows<{ tree: string }>(
    'select json_serialize_sql($1::varchar)::varchar as tree',
    [text],
  )
  const tree = JSON.parse(parsed?.tree ?? '{}') as Tree
  if (tree.error) return tree.error_type === 'parser'
  const [statement, ...more] = tree.statements
  const [value, ...others] = statement?.node.select_list ?? []
  return more.length === 0 && value !== undefined && others.length === 0 && !makesRows(value)
}

/** Of one row these make several, or none. */
const ROW_MAKERS = ['unnest', 'unlist', 'generate_subscripts']

/** Within a SELECT of its own there may be as many rows as it likes. */
function makesRows(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(makesRows)
  if (typeof node !== 'object' || node === null) return false
  const { class: kind, function_name: name } = node as { class?: string; function_name?: string }
  if (kind === 'SUBQUERY') return false
  return ROW_MAKERS.includes(name?.toLowerCase() ?? '') || Object.values(node).some(makesRows)
}

type Tree =
  | { error: true; error_type: string }
  | { error: false; statements: { node: { select_list?: unknown[] } }[] }

const columnNamed = (columns: readonly Column[], source: string) =>
  columns.find(({ name }) => name === source) ??
  columns.find(({ name }) => name.toLowerCase() === source.trim().toLowerCase())

async function typeOf(
  duck: Duck,
  expression: string,
  place: string,
  columns: readonly Column[],
): Promise<string> {
  const select = `select (${expression}\n) as value from source`
  if (!(await isOneValue(duck, select)) || namesWriter(expression))
    throw fail(
      'bad_request',
      `${place}: must be one DuckDB expression over columns of the file, of one value for each row.`,
    )
  try {
    const [row] = await duck.rows<{ column_type: string }>(`describe ${select}`)
    return row?.column_type ?? 'VARCHAR'
  } catch (cause) {
    const message = (cause as Error).message
    const missing = /Referenced column "(.+?)" not found/.exec(message)?.[1] ?? bareName(message, expression)
    const names = columns.map(({ name }) => name)
    if (missing === undefined) {
      const help = asText(message, columns)
      throw fail('bad_request', `${place}: ${firstLine(message)}${help}`, { cause })
    }
    const help = await nearest(duck, missing, names)
    throw fail('bad_request', `${place}: "${missing}" is not a column of the file.${help}`, { cause })
  }
}

/** What compares or computes with numbers or times fails over a CSV file, whose columns are all text. */
const asText = (message: string, columns: readonly Column[]) =>
  message.startsWith('Binder Error') && columns.every(({ type }) => type === 'VARCHAR')
    ? ' The columns of this file are text: write try_cast("column" as integer), or as decimal or timestamp.'
    : ''

// "Order ID" where there is no such column is a syntax error to DuckDB.
const bareName = (message: string, expression: string) =>
  message.startsWith('Parser Error') && /^[\p{L}\p{N}_ .-]+$/u.test(expression) ? expression : undefined

async function nearest(duck: Duck, name: string, known: readonly string[]): Promise<string> {
  const rows = await duck.rows<{ known: string; distance: number }>(
    `select known, damerau_levenshtein(lower(known), lower($1)) as distance
     from (select unnest(from_json($2, '["VARCHAR"]')) as known) order by distance, known limit 1`,
    [name, JSON.stringify(known)],
  )
  const [best] = rows
  const isNear = best && best.distance <= Math.max(2, name.length / 3)
  return `${isNear ? ` Did you mean "${best.known}"?` : ''} Known: ${known.join(', ')}.`
}
