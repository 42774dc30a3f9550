import { v7 } from 'uuid'
import { appendEvent } from '../event/append.ts'
import type { ConsentChannel, ConsentState } from '../identity/contact.ts'
import { errorFields, log } from '../log.ts'
import type { Db } from '../op.ts'
import { persistently } from '../store/persistently.ts'
import type { Postgres } from '../store/postgres.ts'
import { DAY_MS } from '../time.ts'
import { codeOf, type LinkKind } from './link.ts'
import { honour } from './opt-out.ts'
import { mayTakeBack, takeBack } from './take-back.ts'
import { whomOf } from './whom.ts'

/** A shortened link by its code. */
export interface Link {
  brandId: string
  id: string
  kind: LinkKind
  url: string | null
  messageId: string
  conversationId: string
  campaignId: string | null
  channel: ConsentChannel
  /** That its message went to; null: it is not known. */
  address: string | null
  brandName: string
  /** Whether whom its message was for is erased. */
  erased: boolean
  /** Whether an opt-out was taken back on its page, and none asked for there since. */
  takenBack: boolean
}

interface LinkRow {
  brand_id: string
  id: string
  kind: LinkKind
  url: string | null
  message_id: string
  conversation_id: string
  campaign_id: string | null
  channel: ConsentChannel
  address: string | null
  brand_name: string
  erased: boolean
  taken_back: boolean
}

/** Read across brands: only the code says whose it is. */
export async function linkOf(postgres: Postgres, sent: string): Promise<Link | undefined> {
  const code = codeOf(sent)
  if (code === undefined) return undefined
  const row = await postgres.pipeline.maybe<LinkRow>('short_link_by_code', [code])
  return (
    row && {
      brandId: row.brand_id,
      id: row.id,
      kind: row.kind,
      url: row.url,
      messageId: row.message_id,
      conversationId: row.conversation_id,
      campaignId: row.campaign_id,
      channel: row.channel,
      address: row.address,
      brandName: row.brand_name,
      erased: row.erased,
      takenBack: row.taken_back,
    }
  )
}

/** Records a click, as a row and as the event `link_clicked`. A failure is logged: whoever clicked goes on all the same. */
export async function recordClick(postgres: Postgres, link: Link, at: Date): Promise<void> {
  const { brandId, id, messageId, conversationId, campaignId, url } = link
  const clickId = v7()
  try {
    await postgres.forBrand(brandId).tx(async (tx) => {
      await tx.run('link_click_insert', [clickId, id, messageId, conversationId, at])
      const { identifiers } = await whomOf(tx, conversationId)
      if (Object.keys(identifiers).length === 0) return
      await appendEvent(tx, brandId, {
        event_type: 'link_clicked',
        event_id: `link_clicked:${clickId}`,
        occurred_at: at.getTime(),
        ...identifiers,
        properties: {
          message_id: messageId,
          conversation_id: conversationId,
          ...(campaignId && { campaign_id: campaignId }),
          ...(url && { url }),
          channel: link.channel,
        },
      })
    })
  } catch (error) {
    log('error', 'click_lost', { brand_id: brandId, link_id: id, ...errorFields(error) })
  }
}

const BY_LINK = 'opt-out link'
/** So long an opt-out by a link may be taken back by one: whoever got the mail passed on has the link as well. */
const MISTAKE_MS = DAY_MS

/** Opts out by a link. False: whom it was for is erased, and nothing was done. */
export async function optOut(
  postgres: Postgres,
  { brandId, conversationId, channel, address, takenBack }: Link,
  at: Date,
): Promise<boolean> {
  const source = BY_LINK
  const wish = { conversationId, channel, wants: 'stop', source, address: address ?? undefined, at } as const
  // A reply at another address of the same person holds their contacts in another order.
  return await persistently(() =>
    postgres.forBrand(brandId).tx(async (tx) => {
      const honoured = await honour(tx, brandId, wish)
      if (takenBack) await tx.run('short_links_taken_back', [conversationId, false])
      return honoured
    }),
  )
}

const mistakeOf = ({ conversationId, channel }: Link, at: Date) => ({
  ...{ conversationId, channel, source: BY_LINK, at },
  since: new Date(at.getTime() - MISTAKE_MS),
})

/** Takes an opt-out by a link back. False: there is none of today, or others forbid messages as well. */
export async function undoOptOut(postgres: Postgres, link: Link, at: Date): Promise<boolean> {
  const db = postgres.forBrand(link.brandId)
  if (await persistently(() => takeBack(db, link.brandId, mistakeOf(link, at)))) return true
  return link.takenBack && !(await isRefused(db, link))
}

export const mayUndoOptOut = (postgres: Postgres, link: Link, at: Date): Promise<boolean> =>
  persistently(() => mayTakeBack(postgres.forBrand(link.brandId), mistakeOf(link, at)))

/** Whether whom the link was for is to get no messages on its channel. */
async function isRefused(db: Db, { conversationId, channel }: Link): Promise<boolean> {
  const { contactId } = await whomOf(db, conversationId)
  const shown = await db.maybe<{ state: ConsentState }>('consent_shown', [contactId, channel])
  return shown?.state === 'unsubscribed'
}
