import { identifier, literal } from '../../store/duckdb.ts'
import { asId } from './ids.ts'
import type { Mapped } from './mapping.ts'
import type { Target, TargetType } from './targets.ts'
import { epoch, timeOf } from './time.ts'

/** Amounts have at most eleven digits before the point, as those of stores. */
const AMOUNTS_BELOW = 100_000_000_000
const MOST_WHOLE = 2_147_483_647
const LONGEST_ID = 255
const LONGEST_TEXT = 10_000
const LONGEST_LIST = 2 << 20

/**
 * Words of files on consent, in lower case, an underscore between their parts. Exports say no of who never agreed and of who
 * refused alike: both are refusals.
 */
const CONSENT = {
  subscribed: ['subscribed', 'yes', 'y', 'true', 't', '1', 'opted_in', 'opt_in'],
  unsubscribed: [
    ...['unsubscribed', 'no', 'n', 'false', 'f', '0', 'opted_out', 'opt_out', 'suppressed', 'cleaned'],
    ...['not_subscribed', 'non_subscribed', 'never_subscribed', 'redacted', 'invalid'],
  ],
  pending: ['pending', 'unconfirmed'],
}

interface Cast {
  /** Type of the column; a target that nothing fills is a null of it. */
  column: string
  /** SQL of the value from its text; null when it is none. */
  value(text: string): string
  /** SQL condition that a value meets. */
  valid?(value: string, target: Target): string
  /** Why a text without valid value is refused. */
  reason(target: Target): string
  /** Smallest value. */
  least?: 0
}

const upTo = (characters: number): Cast => ({
  column: 'VARCHAR',
  value: (text) => text,
  valid: (value) => `length(${value}) <= ${characters} and not contains(${value}, chr(0))`,
  reason: () => `is longer than ${characters.toLocaleString('en')} characters or holds the character U+0000`,
})

const matching = (pattern: string, reason: string, value = (text: string) => text): Cast => ({
  column: 'VARCHAR',
  value,
  valid: (value) => `regexp_matches(${value}, ${literal(pattern)})`,
  reason: () => reason,
})

const json = (start: string, reason: string): Cast => ({
  column: 'VARCHAR',
  value: (text) => text,
  // An escaped NUL (chr(92) is the backslash) is good JSON and stops Postgres.
  valid: (value) =>
    `left(${value}, 1) = '${start}' and json_valid(${value}) and not contains(${value}, chr(92) || 'u0000')`,
  reason: () => `${reason}, or holds the character U+0000`,
})

const decimal = (places: number): Cast => ({
  column: `DECIMAL(18,${places})`,
  value: (text) => `try_cast(${text} as DECIMAL(18,${places}))`,
  valid: (value) => `${value} < ${AMOUNTS_BELOW}`,
  reason: () => `is not an amount such as 1234.50, below ${AMOUNTS_BELOW.toLocaleString('en')}`,
  least: 0,
})

const text = upTo(LONGEST_TEXT)

/** How spreadsheets and columns of floating-point numbers write what is too long for them: 5.61E+12. */
const ROUNDED = '^-?\\d([.,]\\d+)?[eE]\\+\\d+$'

const CASTS: Record<TargetType, Cast> = {
  id: upTo(LONGEST_ID),
  text,
  // Checked as channels later: the brand's phone region is needed for it.
  email: text,
  phone: text,
  money: decimal(2),
  price: decimal(6),
  whole: {
    column: 'INTEGER',
    // A cast to an integer would round 6.5.
    value: (text) => `try_cast(${text} as DECIMAL(18,6))`,
    valid: (value) => `${value} = trunc(${value}) and ${value} <= ${MOST_WHOLE}`,
    reason: () => `is not a whole number up to ${MOST_WHOLE.toLocaleString('en')}`,
    least: 0,
  },
  time: {
    column: 'TIMESTAMP',
    value: timeOf,
    valid: (value) => `${value} >= '1900-01-01' and ${value} < '2200-01-01'`,
    reason: () =>
      'is not a time from 1900 on such as 2026-11-30T08:15:00Z (UTC where it names no zone; a zone is an offset, UTC, GMT or a name such as Europe/Berlin), nor a number (no text) of seconds, milliseconds or microseconds since 1970 that comes to 1990 or later',
  },
  flag: {
    column: 'BOOLEAN',
    value: (text) => `try_cast(${text} as BOOLEAN)`,
    reason: () => 'is neither true nor false',
  },
  choice: {
    column: 'VARCHAR',
    value: (text) => `lower(${text})`,
    valid: (value, { values = [] }) => `${value} in (${values.map(literal).join(', ')})`,
    reason: ({ values = [] }) => `is not one of ${values.join(', ')}`,
  },
  consent: {
    column: 'VARCHAR',
    value: (text) => {
      const word = `regexp_replace(lower(${text}), '[\\s_-]+', '_', 'g')`
      const states = Object.entries(CONSENT).map(
        ([state, words]) => `when ${word} in (${words.map(literal).join(', ')}) then ${literal(state)}`,
      )
      return `case ${states.join(' ')} end`
    },
    reason: () =>
      'is no word on consent such as yes, no, subscribed, unsubscribed, not_subscribed or pending',
  },
  currency: matching('^[A-Z]{3}$', 'is not a currency code of three letters', (text) => `upper(${text})`),
  type: matching(
    '^[A-Za-z][A-Za-z0-9_]{0,63}$',
    'is not a letter followed by letters, digits or underscores, at most 64 characters',
  ),
  list: {
    column: 'VARCHAR[]',
    value: (text) =>
      `list_filter(list_transform(case when contains(${text}, chr(0)) or contains(${text}, chr(92) || 'u0000') then null
        when left(${text}, 1) = '[' and json_valid(${text}) then from_json(${text}, '["VARCHAR"]')
        else string_split(${text}, ',') end, lambda entry: trim(entry)), lambda entry: entry <> '')`,
    valid: (value) => `strlen(to_json(${value})::VARCHAR) <= ${LONGEST_LIST}`,
    reason: () => 'is longer than 2 MB or holds the character U+0000',
  },
  array: json('[', 'is not a JSON array'),
  object: json('{', 'is not a JSON object'),
}

/** Integers below it are exact as doubles. */
export const EXACT_BELOW = 2 ** 53
const EXACT_FLOAT_BELOW = 2 ** 24

/** Null where bytes are no UTF-8. */
const decoded = (value: string) => `try(decode(${value}))`

/** Of bytes that Parquet does not mark as text. */
export const textOf = (value: string) => `coalesce(${decoded(value)}, ${value}::VARCHAR)`

const BLANKS = `' ' || chr(9) || chr(10) || chr(13) || chr(160)`

const NESTED = /\[\d*\]$|^(STRUCT|MAP|UNION)\b/

const isNested = (source: string, value: string) =>
  source === 'JSON'
    ? `json_type(${value}) in ('OBJECT', 'ARRAY')`
    : `${NESTED.test(source)} and ${value} is not null`

/** SQL of a value as trimmed text; null for what stands for no value. */
function asText(value: string, source: string, target: TargetType): string {
  if (NESTED.test(source)) return `to_json(${value})::VARCHAR`
  if (source === 'JSON') {
    if (target === 'object' || target === 'array') return `nullif(${value}::VARCHAR, 'null')`
    const shown = blank(`${value} ->> '$'`)
    return target === 'time' ? epoch(jsonNumber(value), shown) : shown
  }
  if (/^(DOUBLE|FLOAT)$/.test(source)) {
    const isExact = `abs(${value}) < ${source === 'FLOAT' ? EXACT_FLOAT_BELOW : EXACT_BELOW}`
    const shown = floatText(value, isExact, target)
    return `case when not isnan(${value}) then ${shown} end`
  }
  if (target === 'time' && /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL.*)$/.test(source))
    return epoch(value, `${value}::VARCHAR`)
  if (source.startsWith('DECIMAL')) return wholeText(value, 'true')
  if (source === 'BLOB') return blank(textOf(value))
  return source === 'VARCHAR' ? blank(value) : `${value}::VARCHAR`
}

const blank = (value: string) => `nullif(trim(${value}, ${BLANKS}), '')`

/** How programs write a value that there is not, in these capitals: Null is a name. */
const NO_VALUES = ['NULL', 'null', '\\N', '#N/A', 'N/A', 'n/a', 'NaN', 'nan', 'None', 'undefined']

const given = (text: string) =>
  `case when ${text} not in (${NO_VALUES.map(literal).join(', ')}) then ${text} end`

/** Without the zeros after the point where a number is whole. */
const wholeText = (value: string, isExact: string) =>
  `case when ${value} = trunc(${value}) and ${isExact} then ${value}::HUGEINT::VARCHAR else ${value}::VARCHAR end`

/** An id that passed through a floating-point column is 17850.0 there, a missing one NaN. */
function floatText(value: string, isExact: string, target: TargetType): string {
  const whole = wholeText(value, isExact)
  if (target === 'time') return epoch(value, whole)
  // One that is rounded shows that it is.
  return target === 'id'
    ? `case when ${isExact} then ${whole} else format('{:.6e}', ${value}::DOUBLE) end`
    : whole
}

const jsonNumber = (value: string) =>
  `case when json_type(${value}) in ('UBIGINT', 'BIGINT', 'DOUBLE') then try_cast(${value} ->> '$' as DOUBLE) end`

export interface Pick {
  /** Name of the table to make: `n`, one column per target, and `fault`, the first thing that is wrong with the row. */
  into: string
  from: string
  /** SQL of the row number and of columns that are carried along. */
  row: string
  carry?: readonly string[]
  where?: string
  targets: Readonly<Record<string, Target>>
  mapped: readonly Mapped[]
  /** SQL text expression that leads the field's name in a fault. */
  place?: string
}

/** The statement that reads a relation into typed columns. No bad value stops it; each becomes the fault of its row. */
export function pick({ into, from, row, carry = [], where, targets, mapped, place }: Pick): string {
  const source = new Map(mapped.map((column) => [column.target, column]))
  const filled = Object.entries(targets).flatMap(([name, target]) => {
    const column = source.get(name)
    return column ? [{ ...column, name, target }] : []
  })
  const raw = filled.map(({ expression }, at) => `(${expression}\n) as raw_${at}`)
  const texts = filled.map(({ type, target }, at) => {
    const text = asText(`raw_${at}`, type, target.type)
    return `${target.type === 'id' ? asId(text, target) : given(text)} as text_${at}`
  })
  const casts = filled.map(({ target }, at) => `${CASTS[target.type].value(`text_${at}`)} as cast_${at}`)
  const values = filled.map(({ target }, at) => `${validValue(`cast_${at}`, target)} as value_${at}`)
  const columns = Object.entries(targets).map(([name, { type }]) => {
    const at = filled.findIndex((other) => other.name === name)
    return `${at < 0 ? `null::${CASTS[type].column}` : `value_${at}`} as ${identifier(name)}`
  })
  const faults = filled.flatMap(({ name, target, type }, at) => faultsOf(name, target, type, at, place))
  const list = (...entries: string[]) => entries.join(', ')
  return `create table ${into} as
    with raw as (select ${list(`${row} as n`, ...carry, ...raw)} from ${from} ${where === undefined ? '' : `where (${where}\n)`}),
    texts as (select ${list('*', ...texts)} from raw),
    casts as (select *, ${list(...casts)} from texts),
    typed as (select *, ${list(...values)} from casts)
    select ${list('n', ...carry, ...columns)}, coalesce(${list(...faults, NO_FAULT)}) as fault
    from typed`
}

function validValue(value: string, target: Target): string {
  const { column, valid } = CASTS[target.type]
  return valid ? `case when ${valid(value, target)} then ${value}::${column} end` : value
}

const NO_FAULT = 'null::STRUCT(field VARCHAR, "value" VARCHAR, reason VARCHAR)'

function faultsOf(name: string, target: Target, source: string, at: number, place?: string): string[] {
  const { least, reason } = CASTS[target.type]
  const field = place === undefined ? literal(name) : `${place} || ${literal(name)}`
  const fault = (condition: string, why: string) =>
    `case when ${condition} then {'field': ${field}, 'value': left(text_${at}, 200), 'reason': ${literal(why)}} end`
  const faults = [fault(`value_${at} is null and text_${at} is not null`, reason(target))]
  if (source === 'BLOB')
    faults.unshift(fault(`raw_${at} is not null and ${decoded(`raw_${at}`)} is null`, 'is no UTF-8 text'))
  if (target.type === 'id')
    faults.push(
      fault(`${isNested(source, `raw_${at}`)}`, 'is an object or a list, no id'),
      fault(
        `regexp_matches(text_${at}, ${literal(ROUNDED)})`,
        'is a number that lost its digits: write its column as text',
      ),
    )
  if (target.noId === 'refused')
    faults.push(fault(`is_no_id(text_${at})`, 'stands for no id: leave it empty where there is none'))
  if (target.ofCustomer)
    faults.push(fault(`is_of_another_kind(text_${at})`, 'is the id of something else than a customer'))
  if (target.required) faults.push(fault(`text_${at} is null`, 'is missing'))
  if (least !== undefined) faults.push(fault(`value_${at} < ${least}`, 'is negative'))
  return faults
}
