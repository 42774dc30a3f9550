import { ATTRIBUTE_FIELD, SOURCES } from './catalog.ts'
import { COUNT, MEMBER } from './name.ts'
import { AGGREGATES, LIMITS, OPERATORS, positiveOf, TIMES_OPS } from './operators.ts'

const ATTRIBUTES_DESCRIBED = {
  name: ATTRIBUTE_FIELD,
  type: 'string, number, boolean or time, as the value that it is compared with',
  help: 'a property that events set; of a list, one of its elements',
  line: false,
  each: false,
  values: null,
}

/** The tables as data, for the README, the JSON Schema and the tool descriptions. */
export function describeCatalog() {
  return {
    limits: LIMITS,
    operators: Object.entries(OPERATORS).map(([name, row]) => {
      const { takes, value } = positiveOf(row)
      return {
        name,
        alias: row.alias ?? null,
        not: 'not' in row ? row.not : null,
        takes,
        value,
        help: row.help,
        example: row.example,
      }
    }),
    times: TIMES_OPS,
    aggregates: Object.entries(AGGREGATES).map(([name, { of, help }]) => ({ name, of, help })),
    sources: Object.entries(SOURCES).map(([name, source]) => ({
      name,
      rows: source.rows,
      help: source.help,
      fields: [
        ...Object.entries(source.fields).map(([fieldName, { type, help, line, each, oneOf: values }]) => ({
          name: fieldName,
          type: type as string,
          help,
          line: line ?? false,
          each: each ?? false,
          values: values ?? null,
        })),
        ...(source.attributes ? [ATTRIBUTES_DESCRIBED] : []),
      ],
    })),
  }
}

/** The catalog in few words: what a client needs to write a rule. */
export function catalogText(): string {
  const { operators, sources, aggregates } = describeCatalog()
  const fieldsOf = ({ fields }: (typeof sources)[number]) =>
    fields.map(({ name, type, values }) => `${name} (${values ? values.join('|') : (SHORT[type] ?? type)})`)
  return [
    'A rule is a group { all: [rules] }, { any: [rules] } or { not: rule }, or a condition:',
    'a comparison { field, op, value };',
    'a count { op: "count-over-window", window: { days }, times: { op, n }, where: [comparisons on one row] };',
    `an aggregate { agg: ${aggregates.map(({ name }) => name).join('|')}, field, op, value, where, window };`,
    'or { op: "member-of-segment", segmentId }. Any rule may have its own source.',
    ...sources.map(
      (source) =>
        `Source ${source.name} (${source.help}${source.rows === 'many' ? '; many rows a customer' : ''}): ${fieldsOf(source).join(', ')}.`,
    ),
    `Operators: ${takenBy(operators)}.`,
    'between takes [low, high], in and notIn a list, withinLast { days }. Numbers are JSON numbers or decimal strings, times ISO 8601; a date is its midnight in UTC.',
    'Without a window the last 1,095 days count; a count without times means at least 1.',
    'Members are profiles with an email, a phone or a store customer id, also below not. Not supported: RFM scores, geography, consent, email engagement.',
  ].join(' ')
}

/** The operators of each type; types with the same ones together. */
function takenBy(operators: ReturnType<typeof describeCatalog>['operators']): string {
  const taking = [...new Set(operators.flatMap(({ takes }) => takes))].map((type) => ({
    type,
    names: operators.flatMap(({ takes, name }) => (takes.includes(type) ? name : [])).join(' '),
  }))
  return [...Map.groupBy(taking, ({ names }) => names)]
    .map(([names, types]) => `of ${types.map(({ type }) => type).join(' and ')} ${names}`)
    .join('; ')
}

const SHORT: Record<string, string> = {
  [ATTRIBUTES_DESCRIBED.type]: 'typed as the value',
}

/** A definition as a JSON Schema. Rules inside rules are objects of the same kind. */
export function definitionSchema() {
  const { operators, sources, aggregates, limits, times } = describeCatalog()
  const ops = operators.flatMap(({ name, alias }) => (alias ? [name, alias] : [name]))
  const source = { type: 'string', enum: sources.map(({ name }) => name) }
  const op = { type: 'string', enum: ops }
  const rules = { type: 'array', minItems: 1, items: { type: 'object', description: 'A rule.' } }
  const days = { type: 'integer', minimum: 1, maximum: limits.maxDays }
  const object = (properties: object, required: string[]) => ({
    type: 'object',
    properties,
    required,
    additionalProperties: false,
  })
  const rule = {
    type: 'object',
    description: catalogText(),
    properties: {
      source,
      all: rules,
      any: rules,
      not: { type: 'object', description: 'A rule.' },
      field: { type: 'string' },
      op: { type: 'string', enum: [...ops, COUNT, MEMBER] },
      value: { description: 'As the operator takes it.' },
      agg: { type: 'string', enum: aggregates.map(({ name }) => name) },
      window: object({ days }, []),
      times: object(
        {
          op: { type: 'string', enum: timesOps(operators, times) },
          n: { type: 'integer', minimum: 0, maximum: limits.maxTimes },
        },
        ['op', 'n'],
      ),
      where: {
        type: 'array',
        items: object({ source, field: { type: 'string' }, op, value: {} }, ['field', 'op']),
      },
      segmentId: { type: 'string', format: 'uuid' },
    },
    additionalProperties: false,
  }
  return object({ source, rule }, ['source', 'rule'])
}

type Described = ReturnType<typeof describeCatalog>

const timesOps = (operators: Described['operators'], times: readonly string[]) =>
  operators.flatMap(({ name, alias }) => (times.includes(name) ? (alias ? [name, alias] : [name]) : []))
