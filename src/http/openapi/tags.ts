interface Tag {
  name: string
  description: string
  /** What follows /v1/ in its paths. */
  nouns: readonly string[]
}

const TAGS: readonly Tag[] = [
  { name: 'Brand', nouns: ['brand'], description: 'Business details and settings.' },
  {
    name: 'Conversations',
    nouns: ['conversations', 'contacts'],
    description: 'Conversations, their messages, and the contacts they are with.',
  },
  {
    name: 'Customers',
    nouns: ['customers'],
    description: 'Customers, their profile, activity and purchases.',
  },
  {
    name: 'Segments',
    nouns: ['segments'],
    description: 'Saved groups of customers: rules, estimates, members, history.',
  },
  { name: 'Commerce', nouns: ['commerce'], description: 'Orders, subscriptions and products of the store.' },
  {
    name: 'Insights',
    nouns: ['insights'],
    description: 'Lifetime value, RFM tiers, top products, customers at risk.',
  },
  {
    name: 'Campaigns',
    nouns: ['campaigns', 'stats', 'events'],
    description: 'Campaigns, their journeys and results.',
  },
  { name: 'Discounts', nouns: ['discounts'], description: 'Saved discounts.' },
  {
    name: 'Integrations',
    nouns: ['integrations', 'providers', 'event-types'],
    description: 'Connected apps, event types, and custom data sources with their event definitions.',
  },
  { name: 'API keys', nouns: ['keys'], description: 'Create, list, rotate and revoke API keys.' },
  {
    name: 'Sign-in',
    nouns: [],
    description: 'OAuth 2.1 for apps that act for a person, and the session of the web app.',
  },
  { name: 'Customer data', nouns: [], description: 'The customer-data host.' },
  { name: 'Data collection', nouns: [], description: 'Events sent to the collect host.' },
]

/** The tag of a path; a noun without one in the table is its own. */
export function tagOf(path: string): string {
  if (path.startsWith('/cdp/')) return 'Customer data'
  const noun = path.split('/')[2] ?? ''
  return TAGS.find(({ nouns }) => nouns.includes(noun))?.name ?? noun
}

/** The used tags, in the order of the table. */
export function tagObjects(used: ReadonlySet<string>): object[] {
  const known = TAGS.filter(({ name }) => used.has(name)).map(({ name, description }) => ({
    name,
    description,
  }))
  const others = [...used].filter((name) => !TAGS.some((tag) => tag.name === name))
  return [...known, ...others.map((name) => ({ name, description: `Operations under /v1/${name}.` }))]
}
