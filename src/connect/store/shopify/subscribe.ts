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

/** Another message means that the store sends there already. */
const TAKEN = /already been taken/i

export interface Subscribed {
  topics: string[]
  /** Topics that the store does not send, with its reason. */
  refused: { topic: string; reason: string }[]
}

/** Asks the store to send its webhooks to an address. The compliance topics are set in the app itself. */
export async function subscribeWebhooks(api: AdminApi, uri: string): Promise<Subscribed> {
  const done: Subscribed = { topics: [], refused: [] }
  for (const topic of Object.keys(TOPICS).filter((name) => !COMPLIANCE_TOPICS.includes(name))) {
    const reason = await subscribe(api, topic, uri)
    if (reason === null) done.topics.push(topic)
    else done.refused.push({ topic, reason })
  }
  return done
}

async function subscribe(api: AdminApi, topic: string, uri: string): Promise<string | null> {
  try {
    const variables = { topic: topic.toUpperCase().replace('/', '_'), uri }
    const made = new Fields(await api.query(SUBSCRIBE, variables)).object('webhookSubscriptionCreate')
    const [problem] = made?.list('userErrors') ?? []
    const message = problem?.text('message') ?? null
    return message === null || TAKEN.test(message) ? null : message
  } catch (error) {
    // A topic that this app's scopes do not cover, or that the shop does not have.
    if (error instanceof Failure && ['forbidden', 'upstream_error'].includes(error.code)) return error.message
    throw error
  }
}
