import { Failure } from '../../../errors.ts'
import { Fields } from '../fields.ts'
import type { AdminApi } from './client.ts'
import { COMPLIANCE_TOPICS, TOPICS } from './topics.ts'

const SUBSCRIBE = `mutation subscribe($topic: WebhookSubscriptionTopic!, $uri: String!) {
  webhookSubscriptionCreate(topic: $topic, webhookSubscription: { uri: $uri, format: JSON }) {
    webhookSubscription { id }
    userErrors { message }
  }
}`

const SUBSCRIBED = `query subscribed {
  webhookSubscriptions(first: 250) { nodes { topic uri } }
}`

/** Another message means that the store sends there already. */
const TAKEN = /already been taken/i

export interface Subscribed {
  topics: string[]
  /** Those of them that the store did not send before. */
  made: string[]
  /** Topics that the store does not send, with its reason. */
  refused: { topic: string; reason: string }[]
}

/** Has the store send its webhooks to an address. The compliance topics are set in the app itself. */
export async function subscribeWebhooks(api: AdminApi, uri: string): Promise<Subscribed> {
  const done: Subscribed = { topics: [], made: [], refused: [] }
  const sent = await sentTo(api, uri)
  for (const topic of Object.keys(TOPICS).filter((name) => !COMPLIANCE_TOPICS.includes(name))) {
    const answer = sent.has(named(topic)) ? 'taken' : await subscribe(api, topic, uri)
    if (typeof answer === 'object') done.refused.push({ topic, ...answer })
    else done.topics.push(topic)
    if (answer === 'made') done.made.push(topic)
  }
  return done
}

/** As the Admin API names a topic. */
const named = (topic: string) => topic.toUpperCase().replace('/', '_')

/** The topics that the store sends to the address already. */
async function sentTo(api: AdminApi, uri: string): Promise<Set<string | null>> {
  try {
    const nodes = new Fields(await api.query(SUBSCRIBED)).object('webhookSubscriptions')?.list('nodes') ?? []
    return new Set(nodes.filter((node) => node.address('uri') === uri).map((node) => node.text('topic')))
  } catch (error) {
    if (isRefusal(error)) return new Set()
    throw error
  }
}

async function subscribe(
  api: AdminApi,
  topic: string,
  uri: string,
): Promise<'made' | 'taken' | { reason: string }> {
  try {
    const made = new Fields(await api.query(SUBSCRIBE, { topic: named(topic), uri })).object(
      'webhookSubscriptionCreate',
    )
    const [problem] = made?.list('userErrors') ?? []
    const message = problem?.text('message') ?? null
    if (message === null) return 'made'
    return TAKEN.test(message) ? 'taken' : { reason: message }
  } catch (error) {
    if (isRefusal(error)) return { reason: error.message }
    throw error
  }
}

/** Such as of a topic that this app's scopes do not cover, or that the shop does not have. */
const isRefusal = (error: unknown): error is Failure =>
  error instanceof Failure && ['forbidden', 'upstream_error'].includes(error.code)
