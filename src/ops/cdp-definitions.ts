import * as v from 'valibot'
import { named } from '../fields.ts'
import { type Op, op } from '../op.ts'
import { PROPERTIES, propertiesOf } from '../segment/property.ts'
import { isAsked } from '../segment/vocabulary-property.ts'
import { describeVocabulary } from '../segment/vocabulary-table.ts'
import * as example from './cdp-example.ts'
import { sourcesOf } from './cdp-fields.ts'
import { customProperties, PROPERTY_TYPES } from './custom-properties.ts'

const PropertyType = named('PropertyType', {
  id: v.string(),
  propertyName: v.string(),
  target: v.picklist(['profiles', 'sessions']),
  type: v.picklist(PROPERTY_TYPES),
  multivalued: v.boolean(),
  source: v.picklist(['built-in', 'custom']),
  name: v.optional(v.string()),
  description: v.optional(v.string()),
})

const ConditionType = named('ConditionType', {
  id: v.string(),
  description: v.string(),
  itemTypes: v.array(v.picklist(['profile', 'event'])),
  parameters: v.array(
    named('ConditionParameter', {
      id: v.string(),
      type: v.picklist(['string', 'integer', 'decimal', 'date', 'condition', 'any']),
      multivalued: v.boolean(),
      required: v.boolean(),
      description: v.string(),
      values: v.optional(v.array(v.string())),
    }),
  ),
  example: v.record(v.string(), v.unknown()),
})

const ComparisonOperator = named('ComparisonOperator', {
  id: v.string(),
  description: v.string(),
  types: v.array(PropertyType.entries.type),
  value: v.picklist(['one', 'part', 'list', 'pair', 'days', 'none']),
})

const reading = { surface: 'cdp', scopes: ['customers:read'], feature: 'cdp', tool: false } as const

export const cdpDefinitionOps: readonly Op[] = [
  op({
    ...reading,
    name: 'list_property_types',
    route: 'GET /cdp/definitions/properties',
    errors: ['upstream_error'],
    what: 'What conditions can ask of profiles and sessions: the built-in properties, and those that events of the brand set on profiles.',
    output: v.object({ properties: v.array(PropertyType), scope: v.string() }),
    example: example.PROPERTY_TYPES,
    run: async (ctx) => {
      const custom = await customProperties(await sourcesOf(ctx))
      const known = PROPERTIES.map(
        ({ id, propertyName, target, type, multivalued, name, description }) =>
          ({ id, propertyName, target, type, multivalued, source: 'built-in', name, description }) as const,
      )
      const taken = new Set(propertiesOf('profiles').map(({ id }) => id))
      const added = custom
        .map(
          ({ name, type, multivalued }) =>
            ({
              id: name,
              propertyName: `properties.${name}`,
              target: 'profiles',
              type,
              multivalued,
              source: 'custom',
            }) as const,
        )
        .filter(({ id, propertyName }) => !taken.has(id) && isAsked(propertyName))
      const properties = [...known, ...added].sort((a, b) =>
        a.target === b.target ? (a.id < b.id ? -1 : 1) : a.target < b.target ? -1 : 1,
      )
      return { properties, scope: ctx.brand.shop_domain }
    },
  }),

  op({
    ...reading,
    name: 'list_condition_types',
    route: 'GET /cdp/definitions/conditions',
    what: 'The condition vocabulary: condition types with their parameters, and comparison operators.',
    output: v.object({
      conditions: v.array(ConditionType),
      operators: v.array(ComparisonOperator),
      scope: v.string(),
    }),
    example: example.CONDITION_TYPES,
    run: async ({ brand }) => ({ ...describeVocabulary(), scope: brand.shop_domain }),
  }),
]
