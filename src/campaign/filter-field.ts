import { describeCatalog } from '../segment/describe.ts'
import { opsFor } from '../segment/name.ts'
import { type FieldType, OPERATORS } from '../segment/operators.ts'
import type { Fact } from './trigger.ts'
import { labelOf } from './variable.ts'

/** Something that a filter compares, as the composer shows it. */
export interface FilterField {
  /** What a filter names: fact and path. */
  field: string
  fact: string
  path: string
  label: string
  group: string
  description: string
  value_type: string
  operators: { operator: string; label: string }[]
  /** All the values that there can be; null: any. */
  values: { value: string; label: string }[] | null
}

/** The fact of what the trigger carried, and of membership in segments. */
export const EVENT = 'event'
export const SEGMENT = 'segment'
export const SEGMENT_FIELD = `${SEGMENT}.id`
/** A field for each name that events set: the name takes the place of the last part. */
export const ATTRIBUTE_FIELD = 'customer_attributes.attributes.<name>'
export const ATTRIBUTE_FIELDS = 'customer_attributes.attributes.'

const GROUPS: Readonly<Record<string, string>> = {
  customer_profile: 'Customer',
  commerce_orders: 'Orders',
  carts: 'Carts',
  product_events: 'Product events',
  utm_attribution: 'Attribution',
  subscription_contracts: 'Subscriptions',
  engagement_events: 'Engagement',
  customer_attributes: 'Attributes',
  [EVENT]: 'Trigger',
  [SEGMENT]: 'Segments',
}

const operatorsFor = (names: readonly string[]) =>
  names.map((operator) => ({ operator, label: OPERATORS[operator]?.help ?? operator }))

const ATTRIBUTE_TYPES: readonly FieldType[] = ['number', 'string', 'boolean', 'time']
const attributeOperators = [...new Set(ATTRIBUTE_TYPES.flatMap(opsFor))]

/** The fields of the segment catalog: `<source>.<field>`. */
const CATALOG: readonly FilterField[] = describeCatalog().sources.flatMap(({ name: source, rows, fields }) =>
  fields.map(({ name, type, help, values }): FilterField => {
    const isAttribute = `${source}.${name}` === ATTRIBUTE_FIELD
    return {
      field: `${source}.${name}`,
      fact: source,
      path: name,
      label: labelOf(name),
      group: GROUPS[source] ?? labelOf(source),
      description: rows === 'many' ? `${help}; of at least one row of the last 1,095 days` : help,
      value_type: isAttribute ? 'any' : type,
      operators: operatorsFor(isAttribute ? attributeOperators : opsFor(type as FieldType)),
      values: values?.map((value) => ({ value, label: labelOf(value) })) ?? null,
    }
  }),
)

const factField = ([path, { type, each, help }]: [string, Fact]): FilterField => ({
  field: `${EVENT}.${path}`,
  fact: EVENT,
  path,
  label: labelOf(path),
  group: GROUPS[EVENT] ?? EVENT,
  description: each ? `${help}; at least one of them` : help,
  value_type: type,
  operators: operatorsFor(opsFor(type)),
  values: null,
})

const memberField = (segments: readonly { id: string; name: string }[]): FilterField => ({
  field: SEGMENT_FIELD,
  fact: SEGMENT,
  path: 'id',
  label: 'Member of segment',
  group: GROUPS[SEGMENT] ?? SEGMENT,
  description: 'a segment that the customer is a member of, as of its latest update',
  value_type: 'string',
  operators: [
    { operator: '=', label: 'is a member of' },
    { operator: '!=', label: 'is no member of' },
  ],
  values: segments.map(({ id, name }) => ({ value: id, label: name })),
})

/** What filters of a campaign can compare; `segments`: those that can be named. */
export const filterFields = (
  facts: Readonly<Record<string, Fact>>,
  segments: readonly { id: string; name: string }[],
): FilterField[] => [
  ...Object.entries(facts).map((fact) => {
    const field = factField(fact)
    const isSegment = fact[0] === 'segment_id'
    return isSegment ? { ...field, values: memberField(segments).values } : field
  }),
  ...CATALOG,
  memberField(segments),
]
