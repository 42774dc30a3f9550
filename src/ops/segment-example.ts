/** One segment, as the documents show it. */

export const ID = '0193d2a4-6c5e-7b1a-9f43-2d0c8e5b7a11'

const DEFINITION = {
  source: 'customer_profile',
  rule: {
    all: [
      { field: 'total_spend', op: '>', value: 500 },
      {
        source: 'product_events',
        op: 'count-over-window',
        window: { days: 30 },
        times: { op: '>=', n: 2 },
        where: [{ field: 'event_kind', op: '=', value: 'product_viewed' }],
      },
    ],
  },
}

const AUDIENCE = {
  evaluation_status: 'evaluated',
  member_count: 1284,
  generation: 96,
  evaluated_at: '2026-11-21T09:15:04.000Z',
  last_run_at: '2026-11-21T09:15:04.000Z',
  current_version_evaluated: true,
}

const ITEM = {
  id: ID,
  name: 'Big spenders who look around',
  description: 'Spent over 500 and viewed products twice in 30 days',
  status: 'active',
  current_version_id: '0193d2a4-6c5f-7d20-8a17-5be4c1f09d32',
  created_by: 'cli',
  created_at: '2026-11-20T08:00:12.000Z',
  updated_at: '2026-11-20T08:00:12.000Z',
}

const NEW_AUDIENCE = {
  evaluation_status: 'not_evaluated',
  member_count: 0,
  generation: 0,
  evaluated_at: null,
  last_run_at: null,
  current_version_evaluated: false,
}

const DEFINED = { version: 1, schema_version: 1, definition: DEFINITION }

export const SEGMENT = { ...ITEM, audience: AUDIENCE, ...DEFINED }

export const CREATED = {
  body: { name: ITEM.name, description: ITEM.description, definition: DEFINITION },
  output: { ...ITEM, audience: NEW_AUDIENCE, ...DEFINED },
}

export const LISTED = { output: { data: [{ ...ITEM, audience: AUDIENCE }], next_cursor: null } }

export const AUDIENCE_READ = { path: { id: ID }, output: { ...AUDIENCE, segment_id: ID, message: null } }

export const MEMBERS = {
  path: { id: ID },
  query: { limit: 1 },
  output: {
    data: [
      {
        customer_id: 'shopify:lumen-home:6940095564',
        email: 'ada@example.com',
        phone: '+14155550143',
        svc_contact_id: null,
        joined_at: '2026-11-20T08:15:03.000Z',
      },
    ],
    next_cursor: 'AbVxq0c2Zk1nVYtKZ3dP',
    generation: 96,
  },
}

export const ESTIMATED = {
  body: { definition: DEFINITION },
  output: { count: 1284, segment_id: null, version: null, estimated_at: '2026-11-21T09:20:41.000Z' },
}

export const UPDATED = {
  path: { id: ID },
  body: { definition: DEFINITION },
  output: {
    ...ITEM,
    current_version_id: '0193d2a4-9b10-7c41-b0aa-0c2de58f1e77',
    updated_at: '2026-11-21T09:20:41.000Z',
    audience: { ...AUDIENCE, current_version_evaluated: false },
    version: 2,
    schema_version: 1,
    definition: DEFINITION,
  },
}

export const ARCHIVED = {
  path: { id: ID },
  body: {},
  output: { ...ITEM, status: 'archived', updated_at: '2026-11-21T09:20:41.000Z', audience: AUDIENCE },
}

export const HISTORY = {
  path: { id: ID },
  query: { limit: 1 },
  output: {
    data: [
      {
        customer_id: 'shopify:lumen-home:6940095564',
        email: 'ada@example.com',
        phone: '+14155550143',
        current_customer_id: 'shopify:lumen-home:6940095564',
        action: 'entered',
        reason: 'data_changed',
        generation: 96,
        changed_at: '2026-11-21T09:15:04.000Z',
      },
    ],
    next_cursor: 'AbVxq0c2Zk1nVYtKZ3dP',
  },
}

export const PREVIEWED = {
  body: { segment_id: ID, definition: DEFINITION },
  output: {
    segment_id: ID,
    version: 1,
    generation: 96,
    entering: 210,
    leaving: 31,
    staying: 1253,
    estimated_at: '2026-11-21T09:20:41.000Z',
  },
}

export const EXPLAINED = {
  path: { id: ID },
  query: { customer_id: 'shopify:lumen-home:6940095564' },
  output: {
    segment_id: ID,
    version: 1,
    customer_id: 'shopify:lumen-home:6940095564',
    member: false,
    conditions: [
      {
        path: 'definition.rule.all[0]',
        words: 'customer_profile.total_spend > 500',
        turned: false,
        actual: '612.40',
        holds: true,
        decides: false,
      },
      {
        path: 'definition.rule.all[1]',
        words: 'count(product_events in 30 days where event_kind = product_viewed) >= 2',
        turned: false,
        actual: 1,
        holds: false,
        decides: true,
      },
    ],
    explained_at: '2026-11-21T09:20:41.000Z',
  },
}

export const SQL = {
  path: { id: ID },
  output: {
    segment_id: ID,
    version: 1,
    sql: 'select customers.customer, customers.customer_id\nfrom customers, params\nwhere …;',
  },
}
