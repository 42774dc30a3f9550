import { COMPARISONS, VALUE_PARAMETERS } from './comparison.ts'
import { LIMITS } from './operators.ts'
import { PROPERTY_TYPES, propertyNames, type Target } from './property.ts'

/** What a condition can be asked of. */
export type ItemType = 'profile' | 'event'
export const ITEM_TYPES: readonly ItemType[] = ['profile', 'event']

export interface Parameter {
  type: 'string' | 'integer' | 'decimal' | 'date' | 'condition' | 'any'
  many?: true
  required?: true
  /** All the values that there can be. */
  oneOf?: readonly string[]
  /** What a message names where it is missing; all of `oneOf` unless said. */
  known?: readonly string[]
  help: string
}

export interface ConditionType {
  help: string
  /** Counts of these take it. */
  of: readonly ItemType[]
  parameters: Readonly<Record<string, Parameter>>
  example: Record<string, unknown>
}

const property = (whose: string, target: Target): Record<string, Parameter> => ({
  propertyName: {
    type: 'string',
    required: true,
    known: propertyNames(target),
    help: `property of the ${whose}, as the property types name it`,
  },
  comparisonOperator: {
    type: 'string',
    required: true,
    oneOf: COMPARISONS.map(({ id }) => id),
    help: 'how it is compared',
  },
  ...Object.fromEntries(
    Object.entries(VALUE_PARAMETERS).map(([name, { many, type, help }]): [string, Parameter] => [
      name,
      { type: type as Parameter['type'], ...(many && { many: true }), help },
    ]),
  ),
})

/** The condition vocabulary: what the parser, the catalog and the README know of it. */
export const CONDITIONS = {
  matchAllCondition: {
    help: 'Everything',
    of: ITEM_TYPES,
    parameters: {},
    example: { type: 'matchAllCondition' },
  },
  booleanCondition: {
    help: `All (and) or any (or) of its conditions; up to ${LIMITS.depth} deep, ${LIMITS.conditions} conditions in all`,
    of: ITEM_TYPES,
    parameters: {
      operator: { type: 'string', oneOf: ['and', 'or'], help: 'and unless given' },
      subConditions: { type: 'condition', many: true, required: true, help: 'at least one' },
    },
    example: {
      type: 'booleanCondition',
      parameterValues: {
        operator: 'or',
        subConditions: [{ type: 'eventTypeCondition', parameterValues: { eventTypeId: 'page_viewed' } }],
      },
    },
  },
  notCondition: {
    help: 'Whatever the condition does not hold for',
    of: ITEM_TYPES,
    parameters: { subCondition: { type: 'condition', required: true, help: 'what must not hold' } },
    example: {
      type: 'notCondition',
      parameterValues: {
        subCondition: { type: 'eventTypeCondition', parameterValues: { eventTypeId: 'page_viewed' } },
      },
    },
  },
  profilePropertyCondition: {
    help: 'A property of the profile; of an event, of the profile that it belongs to. Those that events set are `properties.<name>`',
    of: ITEM_TYPES,
    parameters: property('profile', 'profiles'),
    example: {
      type: 'profilePropertyCondition',
      parameterValues: { propertyName: 'properties.email', comparisonOperator: 'exists' },
    },
  },
  sessionPropertyCondition: {
    help: `A property of at least one session of the profile that began in the last ${LIMITS.maxDays.toLocaleString('en')} days; of an event, of the session that it belongs to`,
    of: ITEM_TYPES,
    parameters: property('session', 'sessions'),
    example: {
      type: 'sessionPropertyCondition',
      parameterValues: {
        propertyName: 'utm.source',
        comparisonOperator: 'equals',
        propertyValue: 'newsletter',
      },
    },
  },
  eventTypeCondition: {
    help: `The event is of this type; of a profile, at least one of its events of the last ${LIMITS.maxDays.toLocaleString('en')} days is`,
    of: ITEM_TYPES,
    parameters: { eventTypeId: { type: 'string', required: true, help: 'an event type' } },
    example: { type: 'eventTypeCondition', parameterValues: { eventTypeId: 'product_viewed' } },
  },
  pastEventCondition: {
    help: 'How often events happened to the profile',
    of: ['profile'],
    parameters: {
      eventCondition: {
        type: 'condition',
        required: true,
        help: 'eventTypeCondition or matchAllCondition, or boolean and not conditions of these',
      },
      operator: {
        type: 'string',
        oneOf: ['eventsOccurred', 'eventsNotOccurred'],
        help: 'eventsOccurred unless given; eventsNotOccurred: the opposite',
      },
      numberOfDays: {
        type: 'integer',
        help: `in the last N × 24 hours; ${LIMITS.maxDays} unless given, which is the most`,
      },
      fromDate: { type: 'date', help: 'not before' },
      toDate: { type: 'date', help: 'not after' },
      minimumEventCount: { type: 'integer', help: '1 unless given' },
      maximumEventCount: { type: 'integer', help: 'no limit unless given' },
    },
    example: {
      type: 'pastEventCondition',
      parameterValues: {
        eventCondition: { type: 'eventTypeCondition', parameterValues: { eventTypeId: 'product_viewed' } },
        numberOfDays: 30,
        minimumEventCount: 2,
      },
    },
  },
} satisfies Record<string, ConditionType>

export type ConditionName = keyof typeof CONDITIONS

/** The vocabulary as data: for the catalog of the customer-data host and the README. */
export function describeVocabulary() {
  return {
    conditions: (Object.entries(CONDITIONS) as [string, ConditionType][]).map(
      ([id, { help, of, parameters, example }]) => ({
        id,
        description: help,
        itemTypes: [...of],
        parameters: Object.entries(parameters).map(([name, { type, many, required, oneOf, help: what }]) => ({
          id: name,
          type,
          multivalued: many ?? false,
          required: required ?? false,
          description: what,
          ...(oneOf && { values: [...oneOf] }),
        })),
        example,
      }),
    ),
    operators: COMPARISONS.map(({ id, operator, help }) => ({
      id,
      description: help,
      types: [...new Set(operator.takes.map((type) => PROPERTY_TYPES[type]))],
      value: operator.value,
    })),
  }
}
