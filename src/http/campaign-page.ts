import type { SignIn } from '../access/sign-in/open.ts'
import { type Membership, membershipsOf } from '../access/sign-in/user.ts'
import { type Campaign, campaignById, setCampaignStatus } from '../campaign/saved.ts'
import { savedStart } from '../campaign/start.ts'
import { fail, noSuchRecord } from '../errors.ts'
import type { Db } from '../op.ts'
import type { Reply } from './reply.ts'
import type { Handler, Request, Route } from './server.ts'
import { FORM_BYTES, formOf } from './sign-in/form.ts'
import { type Html, html } from './sign-in/html.ts'
import { page } from './sign-in/page.ts'
import { checkOrigin, redirect, shown } from './sign-in/web.ts'

const CAMPAIGN_PATH = '/campaigns/'

export interface CampaignPageDeps {
  signIn: Pick<SignIn, 'sessions' | 'issuer' | 'pipeline'>
  db(brandId: string): Db
  now?(): Date
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** What a form can ask for, and what a button says that does. */
const TURNS = { active: 'Turn on', paused: 'Pause', archived: 'Archive for good' } as const
type Turn = keyof typeof TURNS

/** The page of a campaign in the web app (`editor_url`): what it says and when, and where it is turned on. */
export function campaignPageRoutes({ signIn, db, now = () => new Date() }: CampaignPageDeps): Route[] {
  const { sessions, issuer, pipeline } = signIn

  const show: Handler = async (request) => {
    const session = await sessions.find(request.header('cookie'))
    if (!session) return toSignIn(request)
    const [id, own] = [idOf(request), db(session.brand.id)]
    const memberships = await membershipsOf(pipeline, session.userId)
    if (!(await has(own, id))) return await toItsBrand(memberships, id)
    const campaign = await campaignById(own, id)
    const start = await savedStart(own, campaign.definition)
    return campaignPage(campaign, start.label, session.brand.name, memberships.length > 1)
  }

  const has = async (own: Db, id: string) => (await own.maybe('campaign_by_id', [id])) !== undefined

  /** Who works for several brands may be signed in for another one of them. */
  async function toItsBrand(memberships: readonly Membership[], id: string): Promise<Reply> {
    for (const { brand_id } of memberships) if (await has(db(brand_id), id)) return toBrands(id, brand_id)
    throw noSuchRecord()
  }

  const turn: Handler = async (request) => {
    checkOrigin(request, issuer)
    const session = await sessions.find(request.header('cookie'))
    if (!session) return toSignIn(request)
    const form = formOf(request)
    const status = form.get('status')
    if (!isTurn(status)) throw fail('bad_request', `status must be one of ${Object.keys(TURNS).join(', ')}`)
    if (form.get('confirm') !== 'yes')
      throw fail('bad_request', 'Go back and tick the box first: it says what you agree to')
    const { id } = await setCampaignStatus(db(session.brand.id), idOf(request), status, now())
    return redirect(`${CAMPAIGN_PATH}${id}`)
  }

  return [
    {
      path: `${CAMPAIGN_PATH}{campaignId}`,
      surface: 'plain',
      bodyLimit: FORM_BYTES,
      methods: { GET: shown(show), POST: shown(turn) },
    },
  ]
}

const isTurn = (text: string): text is Turn => Object.hasOwn(TURNS, text)

function idOf({ params }: Request): string {
  const { campaignId = '' } = params
  if (!UUID.test(campaignId)) throw noSuchRecord()
  return campaignId
}

const toSignIn = ({ params }: Request): Reply =>
  redirect(`/sign-in?${new URLSearchParams({ next: `${CAMPAIGN_PATH}${params.campaignId}` })}`)

const brandsPath = (id: string, brandId?: string) =>
  `/sign-in/brand?${new URLSearchParams({ next: `${CAMPAIGN_PATH}${id}`, ...(brandId && { brand_id: brandId }) })}`
const toBrands = (id: string, brandId: string): Reply => redirect(brandsPath(id, brandId))

function campaignPage(campaign: Campaign, trigger: string, brand: string, hasOthers: boolean): Reply {
  const { id, name, status, definition } = campaign
  const { action_type, trigger_delay, wait, messages, split, filters } = definition
  const said = split.branches.length > 0 ? split.branches : [{ name: '', weight: 1, messages }]
  const content = html`<h1>${name}</h1>
<p class="quiet">${brand} · ${status}</p>
<h2>When</h2>
<p>${trigger}, then after ${lasting(trigger_delay)}${filters.length > 0 && ` where ${filters.length} filters hold`}; it waits for an answer or an order for ${lasting(wait)}.</p>
${said.map((branch) => branchPart(branch, action_type))}
${status === 'archived' ? html`<p class="quiet">It is archived, for good.</p>` : formsOf(id, status)}
${hasOthers && html`<p class="quiet"><a href="${brandsPath(id)}">Another brand</a></p>`}
<form method="post" action="/sign-out"><button class="second">Sign out</button></form>`
  return page({ title: name, content })
}

const lasting = ({ amount, unit }: { amount: number; unit: string }) =>
  `${amount} ${amount === 1 ? unit.slice(0, -1) : unit}`

function branchPart(
  { name, weight, messages }: Campaign['definition']['split']['branches'][number],
  action: Campaign['definition']['action_type'],
): Html {
  const first = action === 'sms' ? messages.sms : messages.initial
  return html`<h2>${name === '' ? 'Message' : `Message ${name} (weight ${weight})`}</h2>
<p>${first}</p>
<p class="quiet">Its answer: ${messages.agent_reply}</p>`
}

function formsOf(id: string, status: Campaign['status']): Html {
  const agrees: Record<Turn, string> = {
    active: 'From now on its messages go to customers.',
    paused: 'It starts nothing more, and sends nothing more.',
    archived: 'It cannot be turned on again.',
  }
  const turns = (Object.keys(TURNS) as Turn[]).filter(
    (turn) => turn !== status && !(turn === 'paused' && status === 'draft'),
  )
  return html`${turns.map(
    (turn) => html`<form method="post" action="${CAMPAIGN_PATH}${id}">
<input type="hidden" name="status" value="${turn}">
<label class="choice"><input type="checkbox" name="confirm" value="yes" required><span>${agrees[turn]}</span></label>
<button ${turn !== 'active' && html`class="second"`}>${TURNS[turn]}</button>
</form>`,
  )}`
}
