import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { signatureOf } from '../../store/signature.ts'
import type { Message } from './life.ts'
import type { Choices } from './state.ts'

export interface SenderOptions {
  /** Address of the receiver. */
  url: string
  secret: string
  shopDomain: string
  choices: Choices
  /** Share of the webhooks that are sent twice, and of those that overtake others. */
  disorder?: number
}

const TRIES = 5
const RETRY_MS = 200

/** Sends webhooks as the platform does: signed, some of them twice or late, again when they are not taken. */
export async function sendWebhooks(messages: readonly Message[], options: SenderOptions): Promise<number> {
  const { choices, disorder = 0.1 } = options
  const queue = messages.flatMap((message) => {
    const delivery = { message, id: randomUUID() }
    return choices.chance(disorder) ? [delivery, delivery] : [delivery]
  })
  for (let at = queue.length - 1; at > 0; at--) {
    if (!choices.chance(disorder)) continue
    const [late] = queue.splice(at, 1)
    if (late) queue.splice(choices.below(queue.length), 0, late)
  }
  for (const { message, id } of queue) await send(message, id, options)
  return queue.length
}

async function send(message: Message, id: string, { url, secret, shopDomain }: SenderOptions): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    'x-shopify-topic': message.topic,
    'x-shopify-shop-domain': shopDomain,
    'x-shopify-webhook-id': id,
    'x-shopify-triggered-at': message.triggeredAt.toISOString(),
    'x-shopify-hmac-sha256': signatureOf(Buffer.from(message.body), secret),
  }
  for (let attempt = 1; ; attempt++) {
    const status = await fetch(url, { method: 'POST', headers, body: message.body }).then(
      async (response) => {
        await response.arrayBuffer()
        return response.status
      },
      () => 0,
    )
    if (status === 200 || attempt === TRIES) return
    await pause(RETRY_MS * attempt)
  }
}
