import type { Limits } from '../access/limits.ts'
import { type Link, linkOf, mayUndoOptOut, optOut, recordClick, undoOptOut } from '../campaign/click.ts'
import { LINK_PATH } from '../campaign/link.ts'
import type { Failure } from '../errors.ts'
import type { Postgres } from '../store/postgres.ts'
import type { Reply } from './reply.ts'
import type { Request } from './request.ts'
import type { Route } from './route.ts'
import { html } from './sign-in/html.ts'
import { page } from './sign-in/page.ts'

/** Whose link it is is not known before it is looked up. */
const ANY_BRAND = 'links'
/** A form of ours, or the one-click form of a mail program (RFC 8058). */
const FORM_BYTES = 1_024

/**
 * Programs that look at links so that somebody sees what they are, or is kept from bad ones: not a click. Phones of CUBOT
 * and the browser within Telegram are people's; previews of Telegram, Discord and Skype say that they are bots or previews.
 */
const PREVIEW = /(?<!cu)bot\b|crawl|spider|preview|facebookexternalhit|whatsapp|slack/i
/** Filters of mail, proxies of its pictures, and libraries. What Outlook calls itself may be somebody who reads. */
const PROGRAM =
  /barracuda|mimecast|proofpoint|googleimageproxy|microsoft office existence discovery|^(?!.*microsoft outlook).*ms-office|\bpython\b|^java\/|go-http-client|okhttp|libwww|\bwget\b/i

export interface Links {
  postgres: Postgres
  limit?: Limits['collect']
  now?(): Date
}

/** Shortened links of messages: GET and POST /t/{code}. */
export function linkRoutes({ postgres, limit, now = () => new Date() }: Links): Route[] {
  const found = async (request: Request): Promise<Link | undefined> => {
    limit?.(ANY_BRAND, request.address)
    return await linkOf(postgres, request.params.code ?? '')
  }
  const stop = async (link: Link): Promise<Reply> => {
    const at = now()
    if (!(await optOut(postgres, link, at))) return nobodys(link)
    return stopped(link, await mayUndoOptOut(postgres, link, at))
  }
  const undo = async (link: Link): Promise<Reply> =>
    (await undoOptOut(postgres, link, now())) ? undone(link) : unchanged(link)
  const follow = async (request: Request): Promise<Reply> => {
    const link = await found(request)
    if (!link) return gone()
    if (link.kind === 'opt_out') {
      if (link.erased) return nobodys(link)
      return isPerson(request) && !link.takenBack ? await stop(link) : asked(link)
    }
    if (link.url === null) return gone()
    if (isPerson(request)) await recordClick(postgres, link, now())
    return redirect(link.url)
  }
  const submit = async (request: Request): Promise<Reply> => {
    const link = await found(request)
    if (link?.kind !== 'opt_out') return gone()
    if (link.erased) return nobodys(link)
    const wish = new URLSearchParams(request.body.toString()).get('wish')
    return wish === 'start' ? await undo(link) : await stop(link)
  }
  // A slash may have been copied along.
  return [LINK_PATH, `${LINK_PATH}{code}`, `${LINK_PATH}{code}/`].map((path) => ({
    path,
    surface: 'plain',
    bodyLimit: FORM_BYTES,
    methods: { GET: follow, POST: submit },
    failed,
  }))
}

function isPerson(request: Request): boolean {
  const purpose = `${request.header('sec-purpose') ?? ''} ${request.header('purpose') ?? ''}`
  const agent = request.header('user-agent') ?? ''
  return (
    request.method === 'GET' &&
    !/prefetch|preview/i.test(purpose) &&
    agent.trim() !== '' &&
    !PREVIEW.test(agent) &&
    !PROGRAM.test(agent)
  )
}

/** Only to where the link was made to lead: nothing of the request is in it. */
const redirect = (url: string): Reply => ({
  status: 302,
  headers: {
    location: new URL(url).href,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
  },
})

function failed({ code, status, message, headers }: Failure): Reply {
  const [title, what] =
    code === 'rate_limited'
      ? ['Too many at once', 'Wait a moment, then open the link again.']
      : status >= 500
        ? ['That did not work', 'Nothing may have been changed. Wait a moment, then open the link again.']
        : ['That cannot be done', message]
  return page({ status, title, by: null, headers, content: html`<h1>${title}</h1><p>${what}</p>` })
}

const gone = (): Reply =>
  page({
    status: 404,
    title: 'Link not found',
    by: null,
    content: html`<h1>This link leads nowhere</h1><p>It is not complete, or no longer valid.</p>`,
  })

const WHAT = { sms: 'text messages', email: 'emails' } as const
const INSTEAD = { sms: 'answer STOP to the last of them', email: 'use the link in the last of them' } as const

const nobodys = ({ brandName, channel }: Link): Reply =>
  page({
    status: 404,
    title: 'Link not valid',
    by: brandName,
    content: html`<h1>This link is nobody’s any more</h1>
<p>Nothing was changed by it. To get no more ${WHAT[channel]} from ${brandName}, ${INSTEAD[channel]}.</p>`,
  })

/** For a person who was taken for a program, whose browser got the page before they opened it, or who took it back. */
const asked = ({ brandName, channel }: Link): Reply =>
  page({
    title: 'Unsubscribe',
    by: brandName,
    content: html`<h1>Get no more ${WHAT[channel]} from ${brandName}?</h1>
<form method="post"><input type="hidden" name="wish" value="stop"><button>Unsubscribe</button></form>`,
  })

const again = ({ channel, brandName }: Link) =>
  `To get ${WHAT[channel]} again, ${channel === 'sms' ? 'answer START to the last one, or ' : ''}ask ${brandName}.`

const stopped = (link: Link, mayUndo: boolean): Reply =>
  page({
    title: 'Unsubscribed',
    by: link.brandName,
    content: html`<h1>You get no more ${WHAT[link.channel]} from ${link.brandName}</h1>
<p>This holds from now on.${mayUndo ? '' : ` ${again(link)}`}</p>
${mayUndo ? UNDO : ''}`,
  })

const UNDO = html`<form method="post"><input type="hidden" name="wish" value="start"><button class="second">That was a mistake: take it back</button></form>`

const undone = ({ brandName, channel }: Link): Reply =>
  page({
    title: 'Taken back',
    by: brandName,
    content: html`<h1>That was taken back</h1>
<p>For ${WHAT[channel]} from ${brandName} it is as it was before.</p>
<form method="post"><input type="hidden" name="wish" value="stop"><button class="second">Unsubscribe</button></form>`,
  })

const unchanged = (link: Link): Reply =>
  page({
    title: 'Nothing changed',
    by: link.brandName,
    content: html`<h1>Nothing was changed</h1>
<p>This link takes an unsubscribing by it back for a day, unless somebody said otherwise since. ${again(link)}</p>`,
  })
