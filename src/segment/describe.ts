import { ATTRIBUTE_FIELD, SOURCES } from './catalog.ts'
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
