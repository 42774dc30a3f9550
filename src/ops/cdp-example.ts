import { PROPERTIES } from '../segment/property.ts'
import { describeVocabulary } from '../segment/vocabulary-table.ts'

/** Calls of the customer-data host, as the documents show them. */

const ID = '0193d2a4-6c5e-7b1a-9f43-2d0c8e5b7a11'
const SCOPE = 'lumen-home.myshopify.com'
const PROFILE_ID = 'shopify:lumen-home:6940095564'

const SEGMENT = {
  id: ID,
  name: 'Subscribers to the newsletter who look around',
  description: 'Have an email address and viewed products twice in 30 days',
  scope: SCOPE,
}

const CONDITION = {
  type: 'booleanCondition',
  parameterValues: {
    operator: 'and',
    subConditions: [
      {
        type: 'profilePropertyCondition',
        parameterValues: { propertyName: 'properties.email', comparisonOperator: 'exists' },
      },
      {
        type: 'pastEventCondition',
        parameterValues: {
          eventCondition: { type: 'eventTypeCondition', parameterValues: { eventTypeId: 'product_viewed' } },
          numberOfDays: 30,
          minimumEventCount: 2,
        },
      },
    ],
  },
}

const IDENTITY = {
  email: 'ada@example.com',
  phoneNumber: '+12025550123',
  firstName: 'Ada',
  lastName: 'Byron',
  storeCustomerId: '6940095564',
}

const VISITS = { firstVisit: '2025-03-02T08:15:00.000Z', lastVisit: '2026-11-20T19:02:11.000Z' }

export const SEGMENTS = { output: { list: [SEGMENT], scope: SCOPE } }

export const DEFINED = {
  body: { name: SEGMENT.name, description: SEGMENT.description, condition: CONDITION },
  output: SEGMENT,
}

export const MEMBERS = {
  path: { id: ID },
  output: {
    segmentId: ID,
    list: [
      {
        itemId: PROFILE_ID,
        properties: { ...IDENTITY, tags: ['vip'], ...VISITS, totalSpend: '612.40', ordersCount: 3 },
        provenance: 'server',
      },
    ],
    identities: {
      [PROFILE_ID]: {
        profileId: PROFILE_ID,
        ...IDENTITY,
        contactId: '0193d2a4-7b21-7c44-8f0e-6a1d2c3b4e5f',
        visitorIds: ['7f3c9a10-52d7-4e39-9a53-0b8f6c1d2e4a'],
      },
    },
    totalSize: 1,
    offset: 0,
    pageSize: 25,
    scope: SCOPE,
  },
}

export const EXPORTED = {
  path: { id: ID },
  output: { id: PROFILE_ID, provenance: 'server', ...IDENTITY, shopDomain: SCOPE, properties: VISITS },
}

export const COUNTED = {
  path: { itemType: 'profile' },
  body: { condition: CONDITION },
  output: { itemType: 'profile', count: 1284, scope: SCOPE },
}

const [ordered] = PROPERTIES.filter(({ id }) => id === 'firstOrderAt').map(
  ({ field: _, rule: __, ...entry }) => ({ ...entry, source: 'built-in' }),
)

export const PROPERTY_TYPES = {
  output: {
    properties: [
      ordered,
      {
        id: 'loyalty_tier',
        propertyName: 'properties.loyalty_tier',
        target: 'profiles',
        type: 'string',
        multivalued: false,
        source: 'custom',
      },
    ],
    scope: SCOPE,
  },
}

const { conditions, operators } = describeVocabulary()

export const CONDITION_TYPES = {
  output: {
    conditions: conditions.filter(({ id }) => id === 'eventTypeCondition'),
    operators: operators.filter(({ id }) => id === 'equals'),
    scope: SCOPE,
  },
}
