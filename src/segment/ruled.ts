import type { Model } from '../model/graph.ts'
import { checkColumn } from '../model/published.ts'
import type { Kind } from '../model/published-columns.ts'
import { type Field, type RowsName, rowsNamed, SOURCES } from './catalog.ts'
import { columnsIn } from './expression.ts'
import type { FieldType } from './operators.ts'
import { propertiesOf } from './property.ts'

/** What the columns of fields must be, where a rule compares them as they are. */
const KINDS: Readonly<Record<FieldType, Kind>> = {
  ...{ number: 'integer', money: 'money', time: 'time', boolean: 'flag' },
  ...{ string: 'text', email: 'text', tag: 'text' },
}

const kindOf = ({ type, each, reads }: Pick<Field, 'type' | 'each' | 'reads'>): Kind | undefined => {
  if (reads.is !== 'column') return undefined
  return each ? 'texts' : KINDS[type]
}

/** Columns by relation, with what they must be; undefined: anything. */
type Wanted = Map<string, Map<string, Kind | undefined>>

const INNER: readonly RowsName[] = ['attributes', 'any_event', 'sessions', 'rfm', 'churn']

function wanted(): Wanted {
  const found: Wanted = new Map()
  const add = (relation: string, columns: Record<string, Kind | undefined>) => {
    const known = found.get(relation) ?? new Map<string, Kind | undefined>()
    for (const [name, kind] of Object.entries(columns)) known.set(name, kind ?? known.get(name))
    found.set(relation, known)
  }
  const addField = (relation: string, field: Pick<Field, 'type' | 'each' | 'reads'>) => {
    const kind = kindOf(field)
    for (const { name } of columnsIn(field.reads)) add(relation, { [name]: kind })
  }
  for (const name of [...(Object.keys(SOURCES) as RowsName[]), ...INNER]) {
    const { relation, time, currency, lines, only, fields } = rowsNamed(name)
    add(relation.name, { customer: 'integer' })
    if (time) add(relation.name, { [time]: 'time' })
    if (currency) add(relation.name, { [currency]: 'text' })
    for (const { name: column } of columnsIn(only)) add(relation.name, { [column]: undefined })
    for (const field of Object.values(fields))
      addField(field.line && lines ? lines.name : relation.name, field)
    if (!lines) continue
    add(lines.name, { [lines.key]: undefined, customer: 'integer' })
    add(lines.products.name, { [lines.products.key]: undefined, [lines.products.column]: 'text' })
  }
  for (const { field } of propertiesOf('profiles')) addField('customers', field)
  for (const { field } of propertiesOf('sessions')) addField('stg_sessions', field)
  add('stg_events', { event_type: 'text' })
  add('stg_customer_attributes', {
    ...{ name: 'text', kind: 'text', elements: 'texts', moment: 'time', numbers: undefined },
  })
  return found
}

const WANTED = wanted()

/** Throws an error that names the file of a model that rules of segments could not read. */
export function checkRuled(models: readonly Model[]): void {
  for (const [name, columns] of WANTED) {
    const model = models.find((one) => one.name === name)
    if (!model) throw new Error(`models/staging/${name}.sql: is missing, and rules of segments read it`)
    for (const [column, kind] of columns) checkColumn(model, column, kind, 'rules of segments')
  }
}
