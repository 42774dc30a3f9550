import type { ConsentChannel } from '../identity/contact.ts'
import type { Statements } from '../op.ts'
import { compose, type Draft } from './compose.ts'
import type { Text } from './headline.ts'
import type { LinkPlace } from './link.ts'

/** A message that is about to be written to the outbox. */
export interface Letter {
  id: string
  conversationId: string
  contactId: string
  campaignId: string | null
  /** The same one is written and sent once. */
  key: string
  author: 'campaign' | 'agent'
  channel: ConsentChannel
  draft: Draft
  /** Of an email that says none. */
  headline: string
  /** The message that it answers. */
  answers: string | null
}

/** Renders letters, shortens their links and writes both, within a transaction. */
export async function writeLetters(
  tx: Pick<Statements, 'run'>,
  letters: readonly Letter[],
  now: Date,
  baseUrl: string,
): Promise<void> {
  if (letters.length === 0) return
  const links: unknown[][] = []
  // Links of all letters are written together.
  const keeping: Pick<Statements, 'run'> = {
    run: async (_name, values = []) => {
      links.push(values)
      return 1
    },
  }
  const texts: Text[] = []
  for (const { id: messageId, conversationId, campaignId, channel, draft, headline } of letters) {
    const place: LinkPlace = { messageId, conversationId, campaignId }
    const text = await compose(keeping, draft, place, baseUrl)
    texts.push(channel === 'sms' ? text : { ...text, headline: text.headline || headline })
  }
  await tx.run('messages_add', [
    now,
    letters.map(({ id }) => id),
    letters.map(({ conversationId }) => conversationId),
    letters.map(({ contactId }) => contactId),
    letters.map(({ key }) => key),
    letters.map(({ author }) => author),
    letters.map(({ channel }) => channel),
    texts.map(({ headline }) => headline),
    texts.map(({ body }) => body),
    letters.map(({ answers }) => answers),
  ])
  if (links.length)
    await tx.run(
      'short_links_insert',
      links[0]?.map((_, at) => links.map((row) => row[at])),
    )
}
