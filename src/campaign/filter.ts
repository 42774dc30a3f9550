import { Failure } from '../errors.ts'
import { isOneOf } from '../lake/one-of.ts'
import type { Reader } from '../op.ts'
import { rowsNamed } from '../segment/catalog.ts'
import { unknownName } from '../segment/complaint.ts'
import { readCondition } from '../segment/condition.ts'
import { readOperator } from '../segment/name.ts'
import type { FieldType } from '../segment/operators.ts'
import { compileOne } from '../segment/plan.ts'
import { referencesOf, type Tree } from '../segment/tree.ts'
import { type FactTest, factHolds, readFact } from './fact.ts'
import {
  ATTRIBUTE_FIELD,
  ATTRIBUTE_FIELDS,
  EVENT,
  filterFields,
  SEGMENT,
  SEGMENT_FIELD,
} from './filter-field.ts'
import type { Fact } from './trigger.ts'

/** One condition of a campaign; all of its filters have to hold. */
export interface Filter {
  /** Such as `customer_profile.total_spend`, or `event.total` for what the trigger carried. */
  field: string
  operator: string
  value?: unknown
}

/** Filters that were read: what the trigger carried is looked at apart from the customer. */
export interface Filters {
  facts: FactTest[]
  /** As the rule of a segment; null: every customer will do. */
  customer: Tree | null
}

export const MOST_FILTERS = 50

/** Reads filters as the compiler of segments does. Throws `bad_request` that begins with the path. */
export function readFilters(
  filters: readonly Filter[],
  facts: Readonly<Record<string, Fact>>,
  path = 'filters',
): Filters {
  const read: Filters = { facts: [], customer: null }
  const nodes: Tree[] = []
  for (const [index, filter] of filters.entries()) {
    const at = `${path}[${index}]`
    const [fact = '', ...rest] = filter.field.split('.')
    const name = rest.join('.')
    checkNames(filter, facts, at)
    if (fact === EVENT) read.facts.push(readFact(name, facts[name] as Fact, filter, at))
    else nodes.push(readCustomer({ fact, name, filter }, at))
  }
  return nodes.length === 0 ? read : { ...read, customer: { is: 'all', nodes } }
}

/**
 * Reads the filters of a saved version, which were valid when it was saved: a fact that the trigger's schema has no
 * longer, or has as something else, is compared as the type of the filter's own value.
 */
export function savedFilters(filters: readonly Filter[], facts: Readonly<Record<string, Fact>>): Filters {
  const adapted = filters.map((filter) => {
    const [fact, name = ''] = filter.field.split('.')
    if (fact !== EVENT || isValid(filter, facts)) return {}
    return { [name]: { type: typeOf(filter), help: '' } }
  })
  return readFilters(filters, Object.assign({}, facts, ...adapted))
}

function isValid(filter: Filter, facts: Readonly<Record<string, Fact>>): boolean {
  try {
    readFilters([filter], facts)
    return true
  } catch (error) {
    if (error instanceof Failure) return false
    throw error
  }
}

/** A type that takes the operator and the value. */
function typeOf(filter: Filter): FieldType {
  const [, name = ''] = filter.field.split('.')
  const types: FieldType[] = ['number', 'boolean', 'time', 'string']
  return types.find((type) => isValid(filter, { [name]: { type, help: '' } })) ?? 'string'
}

function checkNames({ field, operator }: Filter, facts: Readonly<Record<string, Fact>>, at: string): void {
  const fields = filterFields(facts, [])
  const isAttribute = field.startsWith(ATTRIBUTE_FIELDS)
  const found = fields.find((one) => one.field === (isAttribute ? ATTRIBUTE_FIELD : field))
  if (!found) {
    const known = fields.map((one) => one.field)
    throw unknownName(`${at}.field`, field, 'a field of filters', known)
  }
  const taken = found.operators.map((one) => one.operator)
  readOperator(operator, `${at}.operator`, taken)
}

function readCustomer({ fact, name, filter }: { fact: string; name: string; filter: Filter }, at: string) {
  const { operator, value } = filter
  const given = value === undefined ? {} : { value }
  return fact === SEGMENT
    ? readMembership(filter, at)
    : inFilterWords(at, () =>
        readCondition({ source: fact, field: name, op: operator, ...given }, at, 'customer_profile', {
          conditions: 0,
          isBuiltIn: false,
        }),
      )
}

function readMembership({ operator, value }: Filter, at: string): Tree {
  const { negated } = readOperator(operator, `${at}.operator`, ['=', '!='])
  const member = inFilterWords(at, () =>
    readCondition({ op: 'member-of-segment', segmentId: value }, at, 'customer_profile', {
      conditions: 0,
      isBuiltIn: false,
    }),
  )
  return negated ? { is: 'not', node: member } : member
}

/** A filter has as its value what a rule calls segmentId. */
function inFilterWords<Read>(at: string, read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(error.code, error.message.replace(`${at}.segmentId:`, `${at}.value:`), { cause: error })
  }
}

/** The filters, and that the customer is a member of a segment. */
export const withMember = ({ customer, facts }: Filters, segmentId: string): Filters => {
  const member: Tree = {
    is: 'condition',
    path: SEGMENT_FIELD,
    negated: false,
    test: { of: 'segment', segmentId },
  }
  return { facts, customer: { is: 'all', nodes: [...(customer ? [customer] : []), member] } }
}

/** Segments that the filters name. */
export const segmentsOf = ({ customer, facts }: Filters): string[] => [
  ...(customer ? referencesOf(customer).map(({ segmentId }) => segmentId) : []),
  ...facts.flatMap((test) => (test.name === 'segment_id' && !test.negated ? test.texts : [])),
]

/** Whether what the trigger carried satisfies all filters that look at it. */
export const factsHold = (filters: Filters, facts: Readonly<Record<string, unknown>>, at: Date): boolean =>
  filters.facts.every((test) => factHolds(test, facts, at))

/** A view over all events that set any: read once, of those who are asked for, for all conditions together. */
const ATTRIBUTES = rowsNamed('attributes').relation.name

/**
 * Of these customers (by the ordinals of today) those for whom all filters on the customer hold, by the compiler of
 * segments over the brand's sources and results.
 */
export async function customersThatHold(
  { customer }: Filters,
  sources: Reader,
  customers: readonly number[],
): Promise<Set<number>> {
  if (customer === null || customers.length === 0) return new Set(customers)
  const { text, values } = compileOne(customer)
  const asked = isOneOf(customers)
  const rows = await sources.rows<{ customer: number }>(
    `with ${ATTRIBUTES} as materialized (from main.${ATTRIBUTES} where ${asked})
     select customer from (${text}) where ${asked}`,
    values,
  )
  return new Set(rows.map((row) => row.customer))
}
