import {
  and,
  asOf,
  atLeast,
  atMost,
  contains,
  type Expr,
  equal,
  greater,
  less,
  oneOf,
  present,
  startsWith,
  type Value,
} from './expression.ts'

/** One half of the catalog: the operators and aggregates, what they take, what they mean and how to say it. */

export const LIMITS = {
  /** Groups within groups. */
  depth: 8,
  /** Comparisons, counts and aggregates of one definition, those inside `where` included. */
  conditions: 100,
  listValues: 500,
  textLength: 1_000,
  maxDays: 1_095,
  maxTimes: 10_000,
} as const

export type FieldType = 'number' | 'money' | 'time' | 'string' | 'email' | 'boolean' | 'tag'

const ORDERED = ['number', 'money', 'time'] as const
const WORDS = ['string', 'email', 'tag'] as const
const EVERY = [...ORDERED, ...WORDS, 'boolean'] as const

export interface Operator {
  alias?: string
  takes: readonly FieldType[]
  /** one: a value of the field's type; part: some text of it; list: 1–500; pair: two in order; days: { days }. */
  value: 'one' | 'part' | 'list' | 'pair' | 'days' | 'none'
  means(field: Expr, values: Value[], days: number, type: FieldType): Expr
  help: string
  example: Record<string, unknown>
}

/** A negative operator: the exact complement of a positive one, so it holds where the value is missing. */
export interface NegativeOperator {
  alias?: string
  not: PositiveOp
  help: string
  example: Record<string, unknown>
}

type Means = Operator['means']
const first =
  (means: (field: Expr, value: Expr) => Expr): Means =>
  (field, [value]) =>
    value ? means(field, value) : field

const POSITIVE = {
  '=': {
    alias: 'equals',
    takes: EVERY,
    value: 'one',
    means: first(equal),
    help: 'is equal to',
    example: { field: 'orders_count', op: '=', value: 1 },
  },
  '>': {
    alias: 'greaterThan',
    takes: ORDERED,
    value: 'one',
    means: first(greater),
    help: 'is greater than',
    example: { field: 'total_spend', op: '>', value: '99.99' },
  },
  '>=': {
    alias: 'greaterThanOrEqualTo',
    takes: ORDERED,
    value: 'one',
    means: first(atLeast),
    help: 'is greater than or equal to',
    example: { field: 'total_spend', op: '>=', value: 1000 },
  },
  '<': {
    alias: 'lessThan',
    takes: ORDERED,
    value: 'one',
    means: first(less),
    help: 'is less than',
    example: { field: 'average_order_value', op: '<', value: 25 },
  },
  '<=': {
    alias: 'lessThanOrEqualTo',
    takes: ORDERED,
    value: 'one',
    means: first(atMost),
    help: 'is less than or equal to',
    example: { field: 'orders_count', op: '<=', value: 3 },
  },
  in: {
    takes: ['number', 'money', ...WORDS],
    value: 'list',
    means: (field, values) => oneOf(field, values),
    help: 'is one of up to 500 values',
    example: { source: 'commerce_orders', field: 'product_id', op: 'in', value: ['101', '102'] },
  },
  between: {
    takes: ORDERED,
    value: 'pair',
    means: (field, [low, high]) => (low && high ? and(atLeast(field, low), atMost(field, high)) : field),
    help: 'lies between two values, both included',
    example: { field: 'total_spend', op: 'between', value: [100, 500] },
  },
  contains: {
    takes: WORDS,
    value: 'part',
    means: (field, [part], _days, type) => (part ? (type === 'tag' ? equal : contains)(field, part) : field),
    help: 'contains the text, in the same case; of a list of tags: has the tag',
    example: { field: 'email', op: 'contains', value: '@example.' },
  },
  startsWith: {
    takes: ['string', 'email'],
    value: 'part',
    means: first(startsWith),
    help: 'starts with the text, in the same case',
    example: { field: 'phone', op: 'startsWith', value: '+44' },
  },
  exists: {
    takes: EVERY,
    value: 'none',
    means: (field) => present(field),
    help: 'has a value',
    example: { field: 'first_order_at', op: 'exists' },
  },
  before: {
    takes: ['time'],
    value: 'one',
    means: first(less),
    help: 'is earlier than',
    example: { field: 'first_order_at', op: 'before', value: '2026-01-01T00:00:00Z' },
  },
  after: {
    takes: ['time'],
    value: 'one',
    means: first(greater),
    help: 'is later than',
    example: { field: 'created_at', op: 'after', value: '2026-01-01T00:00:00Z' },
  },
  withinLast: {
    takes: ['time'],
    value: 'days',
    means: (field, _values, days) => and(greater(field, asOf(days)), atMost(field, asOf())),
    help: 'lies in the last N × 24 hours',
    example: { field: 'last_order_at', op: 'withinLast', value: { days: 90 } },
  },
} satisfies Record<string, Operator>

export type PositiveOp = keyof typeof POSITIVE

export const OPERATORS: Readonly<Record<string, Operator | NegativeOperator>> = {
  ...POSITIVE,
  '!=': {
    alias: 'notEquals',
    not: '=',
    help: 'differs from, or is missing',
    example: { source: 'commerce_orders', field: 'state', op: '!=', value: 'cancelled' },
  },
  notIn: {
    not: 'in',
    help: 'is none of the values, or is missing',
    example: { source: 'product_events', field: 'product_id', op: 'notIn', value: ['101', '102'] },
  },
  missing: {
    not: 'exists',
    help: 'has no value',
    example: { field: 'last_order_at', op: 'missing' },
  },
  notWithinLast: {
    not: 'withinLast',
    help: 'lies outside the last N × 24 hours, or is missing',
    example: { field: 'last_order_at', op: 'notWithinLast', value: { days: 90 } },
  },
}

export const positiveOf = (operator: Operator | NegativeOperator): Operator =>
  'not' in operator ? POSITIVE[operator.not] : operator

/** What `times` of count-over-window takes. */
export const TIMES_OPS: readonly string[] = ['=', '!=', '>', '>=', '<', '<=']

export interface Aggregate {
  /** Types of field; empty: the field may be left out, and any type will do. */
  of: readonly FieldType[]
  gives: 'same' | 'number' | 'average'
  /** Sums, and the averages made of them, never add another currency. Least and greatest compare rows as they are. */
  brandCurrency: boolean
  help: string
}

const AGGREGATE_TABLE = {
  sum: { of: ['number', 'money'], gives: 'same', brandCurrency: true, help: 'sum; 0 over no rows' },
  avg: {
    of: ['number', 'money'],
    gives: 'average',
    brandCurrency: true,
    help: 'average; missing over no rows',
  },
  min: { of: ORDERED, gives: 'same', brandCurrency: false, help: 'least value; missing over no rows' },
  max: { of: ORDERED, gives: 'same', brandCurrency: false, help: 'greatest value; missing over no rows' },
  count: {
    of: [],
    gives: 'number',
    brandCurrency: false,
    help: 'rows that have the field, or all rows without one',
  },
  countDistinct: {
    of: EVERY,
    gives: 'number',
    brandCurrency: false,
    help: 'different values; 0 over no rows',
  },
} as const satisfies Record<string, Aggregate>

export type AggregateName = keyof typeof AGGREGATE_TABLE
export const AGGREGATES: Readonly<Record<AggregateName, Aggregate>> = AGGREGATE_TABLE
