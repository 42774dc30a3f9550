import type { Limits } from '../access/limits.ts'
import { followWish, type Link, linkOf, recordClick } from '../campaign/click.ts'
import { LINK_PATH } from '../campaign/link.ts'
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
  const followed = async (link: Link, wants: 'stop' | 'start'): Promise<Reply> => {
    if (!(await followWish(postgres, link, wants, now()))) return nobodys(link)
    return wants === 'start' ? started(link) : stopped(link)
  }
  const follow = async (request: Request): Promise<Reply> => {
    const link = await found(request)
    if (!link) return gone()
    if (link.kind === 'opt_out') {
      if (link.erased) return nobodys(link)
      return isPerson(request) ? await followed(link, 'stop') : asked(link)
    }
    if (link.url === null) return gone()
    if (isPerson(request)) await recordClick(postgres, link, now())
    return redirect(link.url)
  }
  const submit = async (request: Request): Promise<Reply> => {
    const link = await found(request)
    if (link?.kind !== 'opt_out') return gone()
    const wants = new URLSearchParams(request.body.toString()).get('wish') === 'start' ? 'start' : 'stop'
    return await followed(link, wants)
  }
  return [
    {
      path: `${LINK_PATH}{code}`,
      surface: 'plain',
      bodyLimit: FORM_BYTES,
      methods: { GET: follow, POST: submit },
    },
  ]
}

function isPerson(request: Request): boolean {
  const purpose = `${request.header('sec-purpose') ?? ''} ${request.header('purpose') ?? ''}`
  return (
    request.method === 'GET' &&
    !/prefetch|preview/i.test(purpose) &&
    !PREVIEW.test(request.header('user-agent') ?? '')
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

const gone = (): Reply =>
  page({
    status: 404,
    title: 'Link not found',
    content: html`<h1>This link leads nowhere</h1><p>It is not complete, or no longer valid.</p>`,
  })

const WHAT = { sms: 'text messages', email: 'emails' } as const
const INSTEAD = { sms: 'answer STOP to the last of them', email: 'use the link in the last of them' } as const

const nobodys = ({ brandName, channel }: Link): Reply =>
  page({
    status: 404,
    title: 'Link not valid',
    content: html`<h1>This link is nobody’s any more</h1>
<p>Nothing was changed by it. To get no more ${WHAT[channel]} from ${brandName}, ${INSTEAD[channel]}.</p>`,
  })

/** For a person who was taken for a program, or whose browser got the page before they opened it. */
const asked = ({ brandName, channel }: Link): Reply =>
  page({
    title: 'Unsubscribe',
    content: html`<h1>Get no more ${WHAT[channel]} from ${brandName}?</h1>
<form method="post"><input type="hidden" name="wish" value="stop"><button>Unsubscribe</button></form>`,
  })

const stopped = ({ brandName, channel }: Link): Reply =>
  page({
    title: 'Unsubscribed',
    content: html`<h1>You get no more ${WHAT[channel]} from ${brandName}</h1>
<p>This holds from now on.</p>
<form method="post"><input type="hidden" name="wish" value="start"><button class="second">That was a mistake: subscribe again</button></form>`,
  })

const started = ({ brandName, channel }: Link): Reply =>
  page({
    title: 'Subscribed',
    content: html`<h1>You get ${WHAT[channel]} from ${brandName} again</h1>
<form method="post"><input type="hidden" name="wish" value="stop"><button class="second">Unsubscribe</button></form>`,
  })
