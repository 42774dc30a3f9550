import { refusal, shown } from './complaint.ts'
import { and, asOf, atLeast, atMost, column, type Expr, equal, not, or, total, value } from './expression.ts'
import { LIMITS } from './operators.ts'
import { readInteger, readTime } from './value.ts'
import {
  counted,
  type Meant,
  type Parameters,
  readOneOf,
  readSubConditions,
  readType,
  type Walk,
} from './vocabulary-node.ts'
import { anyRow } from './vocabulary-property.ts'

/** Events about products: of other types rules know nothing. */
const IN_RULES = ['product_viewed', 'product_added_to_cart', 'product_removed_from_cart']
const EVENT_TYPE = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** What an event has to be, and as `where` of a rule where rules can say it. */
interface EventTest {
  holds: Expr
  /** Types of which one is enough. */
  oneOf?: string[]
}

/** Of `eventTypeCondition`: the event, or one of the profile's events, is of the type. */
export function readEventType(parameters: Parameters, path: string): Meant {
  const event = eventType(parameters, path)
  return {
    negated: false,
    test: anyRow('any_event', [event.holds]),
    // At least one row of the last 1,095 days.
    rule: () => ({ source: 'product_events', ...kindOf(event, `${path}.eventTypeId`) }),
  }
}

/** Of `pastEventCondition`: how many of the profile's events are like this. */
export function readPastEvent(parameters: Parameters, path: string, walk: Walk): Meant {
  const at = `${path}.eventCondition`
  const event = readEvent(parameters.get('eventCondition'), at, 0, walk)
  const negated =
    readOneOf(parameters, 'operator', path, ['eventsOccurred', 'eventsNotOccurred']) !== 'eventsOccurred'
  const integer = (name: string, least: number, most: number) =>
    parameters.has(name) ? readInteger(parameters.get(name), `${path}.${name}`, least, most) : undefined
  const days = integer('numberOfDays', 1, LIMITS.maxDays) ?? LIMITS.maxDays
  const asked = integer('minimumEventCount', 0, LIMITS.maxTimes)
  const least = asked ?? 1
  const most = integer('maximumEventCount', 0, LIMITS.maxTimes)
  if (most !== undefined && most < least)
    throw refusal(
      `${path}.maximumEventCount`,
      `must not be less than minimumEventCount, which is ${least}${asked === undefined ? ' unless given' : ''}`,
    )
  const [from, to] = ['fromDate', 'toDate'].map((name) =>
    parameters.has(name) ? readTime(parameters.get(name), `${path}.${name}`) : undefined,
  )
  // Both are of one form, so that texts compare as times do.
  if (from !== undefined && to !== undefined && to < from)
    throw refusal(
      `${path}.toDate`,
      `must not be before fromDate, which is ${shown(parameters.get('fromDate'))}`,
    )
  const occurred = column('occurred_at')
  const dated = [
    ...(from === undefined ? [] : [atLeast(occurred, value('time', from))]),
    ...(to === undefined ? [] : [atMost(occurred, value('time', to))]),
  ]
  const bound = (n: number) => value('integer', String(n))
  const enough = atLeast(total, bound(least))
  return {
    negated,
    test: {
      ...anyRow('any_event', [event.holds, ...dated], days),
      holds: most === undefined ? enough : and(enough, atMost(total, bound(most))),
    },
    rule: () => {
      const dates = [
        ...(from === undefined
          ? []
          : [{ field: 'occurred_at', op: '>=', value: parameters.get('fromDate') }]),
        ...(to === undefined ? [] : [{ field: 'occurred_at', op: '<=', value: parameters.get('toDate') }]),
      ]
      const rows = { source: 'product_events', window: { days }, where: [kindOf(event, at), ...dates] }
      return countRule(rows, { least, most }, negated)
    },
  }
}

/** eventTypeCondition, matchAllCondition, and boolean and not conditions of these. */
function readEvent(json: unknown, path: string, depth: number, walk: Walk): EventTest {
  const { name, parameters } = readType(json, path)
  const below = `${path}.parameterValues`
  switch (name) {
    case 'matchAllCondition':
      counted(path, walk)
      return { holds: atMost(column('occurred_at'), asOf()) }
    case 'eventTypeCondition':
      counted(path, walk)
      return eventType(parameters, below)
    case 'notCondition':
    case 'booleanCondition':
      if (depth === LIMITS.depth) throw refusal(path, `conditions may be nested ${LIMITS.depth} deep`)
      return name === 'notCondition'
        ? {
            holds: not(
              readEvent(parameters.get('subCondition'), `${below}.subCondition`, depth + 1, walk).holds,
            ),
          }
        : eventsJoined(parameters, below, depth, walk)
    default:
      throw refusal(
        `${path}.type`,
        `${name} cannot stand in eventCondition. Known here: eventTypeCondition, matchAllCondition, booleanCondition, notCondition`,
      )
  }
}

function eventsJoined(parameters: Parameters, path: string, depth: number, walk: Walk): EventTest {
  const isAnd = readOneOf(parameters, 'operator', path, ['and', 'or']) === 'and'
  const parts = readSubConditions(parameters, path).map((each, index) =>
    readEvent(each, `${path}.subConditions[${index}]`, depth + 1, walk),
  )
  const types = parts.map(({ oneOf }) => oneOf)
  const known = !isAnd && types.every((each) => each !== undefined) ? types.flat() : undefined
  return { holds: (isAnd ? and : or)(...parts.map(({ holds }) => holds)), ...(known && { oneOf: known }) }
}

function eventType(parameters: Parameters, path: string): EventTest {
  const type = parameters.get('eventTypeId')
  if (typeof type !== 'string' || !EVENT_TYPE.test(type))
    throw refusal(
      `${path}.eventTypeId`,
      `must be a letter followed by letters, digits or underscores, at most 64 characters, not ${shown(type)}`,
    )
  return { holds: equal(column('event_type'), value('text', type)), oneOf: [type] }
}

function kindOf({ oneOf }: EventTest, path: string): object {
  const known = IN_RULES.join(', ')
  if (!oneOf) throw refusal(path, `segments can be made of events of these types only: ${known}`)
  const other = oneOf.find((type) => !IN_RULES.includes(type))
  if (other !== undefined)
    throw refusal(path, `segments cannot be made of ${other}, only counts. Known in segments: ${known}`)
  return oneOf.length === 1
    ? { field: 'event_kind', op: '=', value: oneOf[0] }
    : { field: 'event_kind', op: 'in', value: [...new Set(oneOf)] }
}

interface Bounds {
  least: number
  most: number | undefined
}

/** As one condition, and where rules know the opposite by a word, without `not`: rules have room for so many. */
function countRule(rows: object, { least, most }: Bounds, negated: boolean): object {
  const times = (op: string, n: number) => ({ ...rows, op: 'count-over-window', times: { op, n } })
  if (most === undefined) return times(negated ? '<' : '>=', least)
  if (least === 0) return times(negated ? '>' : '<=', most)
  const between = { ...rows, agg: 'count', op: 'between', value: [least, most] }
  return negated ? { not: between } : between
}
