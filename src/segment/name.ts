import { ATTRIBUTE_FIELD, type Field, SOURCES, type Source, type SourceName } from './catalog.ts'
import { refusal, shown, unknownName } from './complaint.ts'
import { type FieldType, OPERATORS, type Operator, positiveOf } from './operators.ts'
import { leftOut } from './unsupported.ts'

/** Operators that are forms of their own, beside those of the catalog. */
export const COUNT = 'count-over-window'
export const MEMBER = 'member-of-segment'

/** Refuses an operator that no form knows, before what else the condition has is looked at. */
export function checkOperator(json: unknown, path: string): void {
  const known = [...Object.keys(OPERATORS), COUNT, MEMBER]
  if (json !== COUNT && json !== MEMBER && operatorNamed(json) === undefined)
    throw unknownOperator(path, json, known)
}

const operatorNamed = (json: unknown): string | undefined =>
  typeof json === 'string'
    ? Object.keys(OPERATORS).find((name) => name === json || OPERATORS[name]?.alias === json)
    : undefined

const ALIASES = Object.values(OPERATORS).flatMap(({ alias }) => alias ?? [])

/** Operators as other languages write them. */
const ELSEWHERE: ReadonlyMap<unknown, string> = new Map([
  ['==', '='],
  ['===', '='],
  ['<>', '!='],
  ['!==', '!='],
  ['=>', '>='],
  ['=<', '<='],
])

const unknownOperator = (path: string, json: unknown, known: readonly string[]) =>
  unknownName(path, json, 'an operator', known, [...known, ...ALIASES], ELSEWHERE.get(json) ?? json)

/** Operators that take a type, by their names in the catalog's order. */
export const opsFor = (type: FieldType): string[] =>
  Object.keys(OPERATORS).filter((name) => {
    const row = OPERATORS[name]
    return row !== undefined && positiveOf(row).takes.includes(type)
  })

export function readOperator(
  json: unknown,
  path: string,
  taken: readonly string[],
): { operator: Operator; negated: boolean } {
  const name = operatorNamed(json)
  const row = name === undefined ? undefined : OPERATORS[name]
  if (name === undefined || !row) throw unknownOperator(path, json, taken)
  if (!taken.includes(name))
    throw refusal(path, `${shown(json)} does not apply here. Known: ${taken.join(', ')}`)
  return { operator: positiveOf(row), negated: 'not' in row }
}

export function readSource(json: unknown, path: string): SourceName {
  if (typeof json === 'string') {
    if (Object.hasOwn(SOURCES, json)) return json as SourceName
    refuseLeftOut(json, path)
  }
  throw unknownName(path, json, 'a source', Object.keys(SOURCES))
}

export function readField(json: unknown, path: string, source: SourceName): Field {
  const { fields, attributes }: Source = SOURCES[source]
  if (typeof json === 'string') {
    const field = Object.hasOwn(fields, json) ? fields[json] : undefined
    if (field) return field
    refuseLeftOut(json, path)
  }
  const known = [...Object.keys(fields), ...(attributes ? [ATTRIBUTE_FIELD] : [])]
  throw unknownName(path, json, `a field of ${source}`, known)
}

/** Names that people try for what rules leave out on purpose get told so. */
export function refuseLeftOut(name: string, path: string): void {
  const what = leftOut(name)
  if (what !== undefined) throw refusal(path, `${what} not supported in rules`)
}

/** Refuses what looks at many rows of a source that has one per customer. */
export function checkMany(source: SourceName, path: string, what: string): void {
  if (SOURCES[source].rows === 'many') return
  const others = Object.keys(SOURCES).filter((name) => SOURCES[name as SourceName].rows === 'many')
  throw refusal(
    path,
    `${what} needs a source with many rows per customer, not ${source}. Known: ${others.join(', ')}`,
  )
}
