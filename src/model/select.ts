import type { DuckDBConnection } from '@duckdb/node-api'
import { isObject } from '../event/exact.ts'

/** What a model's text turned out to be: one SELECT, and the relations that it reads (lower case, sorted). */
export interface Select {
  reads: string[]
  /** Final columns are all named: no `*` in the outermost select list. */
  columnsNamed: boolean
}

/** The part of DuckDB's syntax tree that matters here; anything else is only walked through. */
type Node = { [key: string]: unknown }

/** Table functions that compute from their arguments alone; others read files, settings or SQL text. */
const TABLE_FUNCTIONS = ['unnest', 'range', 'generate_series']

const TABLES = ['BASE_TABLE', 'EMPTY', 'EXPRESSION_LIST', 'JOIN', 'PIVOT', 'SUBQUERY', 'TABLE_FUNCTION']

/** What changes the answer of a model over the same rows and params: the clock, chance, the session. */
const UNSTEADY_NAMES: ReadonlySet<string> = new Set([
  'current_timestamp',
  'current_date',
  'current_time',
  'localtime',
  'localtimestamp',
])
const UNSTEADY_FUNCTIONS: ReadonlySet<string> = new Set(
  [
    'now today get_current_time get_current_timestamp transaction_timestamp current_localtime',
    'current_localtimestamp ago pg_conf_load_time pg_postmaster_start_time',
    'txid_current current_transaction_id current_query_id current_connection_id current_query',
    'random setseed uuid uuidv4 uuidv7 gen_random_uuid nextval currval',
    'getenv getvariable current_setting',
  ]
    .flatMap((names) => names.split(' '))
    .concat(...UNSTEADY_NAMES),
)

/**
 * Parses the text with DuckDB's own parser and lists the relations that it reads, names of CTEs in scope left
 * out. Throws when it is not exactly one SELECT, or reads anything that is not a plain relation.
 */
export async function readSelect(connection: DuckDBConnection, file: string, text: string): Promise<Select> {
  // Not getTableNames(): it misses relations joined with `using`.
  const reader = await connection.runAndReadAll('select json_serialize_sql($1::varchar)', [text])
  const tree: unknown = JSON.parse(String(reader.getRows()[0]?.[0]))
  if (!isObject(tree)) throw new Error(`${file}: DuckDB returned no syntax tree`)
  if (tree.error) throw new Error(`${file}: ${refusal(tree, text)}`)
  const statements = Array.isArray(tree.statements) ? tree.statements : []
  if (statements.length !== 1)
    throw new Error(`${file}: a model is one SELECT, this has ${statements.length} statements`)
  const [statement] = statements
  if (!isObject(statement)) throw new Error(`${file}: DuckDB returned no syntax tree`)
  if (Array.isArray(statement.named_param_map) && statement.named_param_map.length > 0)
    throw new Error(`${file}: a model has no bound values; take parameters from the relation params`)
  const reads = new Set<string>()
  walk(file, statement, new Set(), reads)
  return { reads: [...reads].sort(), columnsNamed: !selectsStar(statement.node) }
}

function refusal(tree: Node, text: string): string {
  if (tree.error_type === 'not implemented') return 'a model is one SELECT, nothing else'
  if (tree.position === undefined || !text.includes('\n')) return String(tree.error_message)
  const before = Buffer.from(text).subarray(0, Number(tree.position)).toString()
  return `${tree.error_message} (line ${before.split('\n').length})`
}

/** Adds the relations under a node to `reads`; `scope` holds the CTE names that hide relations there. */
function walk(file: string, value: unknown, scope: ReadonlySet<string>, reads: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) walk(file, item, scope, reads)
  if (!isObject(value)) return
  if (value.class !== undefined) checkExpression(file, value)
  else if ('sample' in value && 'query_location' in value) checkTable(file, value, scope, reads)
  if (isObject(value.sample)) throw unsteady(file, 'a sample')

  let inner = scope
  // A CTE sees those before it, and itself only when recursive: `with a as (from a)` reads the relation a.
  for (const cte of ctesOf(value)) {
    walk(file, cte.value, inner, reads)
    inner = new Set([...inner, String(cte.key).toLowerCase()])
  }
  if (value.type === 'RECURSIVE_CTE_NODE') inner = new Set([...inner, String(value.cte_name).toLowerCase()])
  for (const [key, child] of Object.entries(value)) if (key !== 'cte_map') walk(file, child, inner, reads)
}

function ctesOf(node: Node): Node[] {
  const map = isObject(node.cte_map) ? node.cte_map.map : undefined
  return Array.isArray(map) ? map.filter(isObject) : []
}

function checkTable(file: string, table: Node, scope: ReadonlySet<string>, reads: Set<string>): void {
  const type = String(table.type)
  if (!TABLES.includes(type)) throw new Error(`${file}: a model cannot read ${type.toLowerCase()}`)
  if (type === 'TABLE_FUNCTION' && isObject(table.function)) {
    const name = String(table.function.function_name)
    if (!TABLE_FUNCTIONS.includes(name))
      throw new Error(
        `${file}: a model reads relations, not ${name}(…). Allowed: ${TABLE_FUNCTIONS.join(', ')}`,
      )
  }
  if (type !== 'BASE_TABLE') return
  const name = String(table.table_name)
  if (table.schema_name || table.catalog_name)
    throw new Error(`${file}: "${table.schema_name}.${name}" has a schema; a model names relations alone`)
  if (!scope.has(name.toLowerCase())) reads.add(name.toLowerCase())
}

function checkExpression(file: string, expression: Node): void {
  const called = expression.class === 'FUNCTION' && readsMore(expression)
  const names = Array.isArray(expression.column_names) ? expression.column_names.map(String) : []
  const named = expression.class === 'COLUMN_REF' && names.length === 1 && UNSTEADY_NAMES.has(names[0] ?? '')
  if (!called && !named) return
  throw unsteady(file, called ? `${expression.function_name}()` : String(names[0]))
}

/** `age` of one time is how long ago that was. */
const readsMore = ({ function_name: name, children }: Node): boolean =>
  UNSTEADY_FUNCTIONS.has(String(name)) || (name === 'age' && Array.isArray(children) && children.length === 1)

const unsteady = (file: string, what: string) =>
  new Error(`${file}: ${what} depends on more than rows and params; times come from params.as_of`)

function selectsStar(node: unknown): boolean {
  if (!isObject(node)) return false
  if (Array.isArray(node.select_list))
    return node.select_list.some((item) => isObject(item) && item.class === 'STAR')
  return selectsStar(node.left) || selectsStar(node.right)
}
