import type { Statements } from '../op.ts'
import { refusal } from '../segment/complaint.ts'
import { completed, defaultMessages, givenName } from './default-message.ts'
import { keepsDiscount } from './discount.ts'
import { type Duration, durationOf, minutesOf } from './duration.ts'
import { type Filter, readFilters, segmentsOf } from './filter.ts'
import { type ActionType, checkMessages, type Messages } from './message-rule.ts'
import { type Start, startOf } from './start.ts'
import type { Available } from './variable.ts'

export const CART_LINKS = {
  checkout: 'goes on with the checkout that the trigger tells of, else with its products',
  cart: 'a new cart with the products that the trigger tells of, else the store',
  url: 'the address in url',
} as const
export type CartLinkType = keyof typeof CART_LINKS

export interface CartLink {
  type: CartLinkType
  url: string | null
}

export interface Branch {
  name: string
  weight: number
  messages: Messages
}

/** A version of a campaign, as it is stored: complete, whatever was left out when it was sent. */
export interface CampaignDefinition {
  trigger_event: string
  provider_id: string | null
  action_type: ActionType
  trigger_delay: Duration
  wait: Duration
  cart_link: CartLink
  discount_id: string | null
  messages: Messages
  filters: Filter[]
  split: { branches: Branch[] }
  starts_at: string | null
  ends_at: string | null
}

/** What is sent; what is absent or null takes its default. */
export interface SentDefinition {
  trigger_event: string
  action_type: ActionType
  provider_id?: string | null
  trigger_delay?: Duration | null
  wait?: Duration | null
  cart_link?: { type: CartLinkType; url?: string | null } | null
  discount_id?: string | null
  messages?: Partial<Messages> | null
  filters?: Filter[] | null
  split?: { branches: { name: string; weight: number; messages?: Partial<Messages> }[] } | null
  starts_at?: Date | string | null
  ends_at?: Date | string | null
}

export const DEFAULT_WAIT_MINUTES = 1_440
const MOST_DELAY_MINUTES = 90 * 1_440
export const MOST_BRANCHES = 5

/** A checkout has been left alone for an hour before it counts as abandoned; of all else there is no hurry either. */
const DEFAULT_DELAY_MINUTES = 30

/** Completes and checks what was sent. Throws `bad_request` that begins with the failing path. */
export async function readCampaign(
  db: Pick<Statements, 'many'>,
  sent: SentDefinition,
): Promise<{ definition: CampaignDefinition; start: Start }> {
  const { trigger_event, action_type } = sent
  const start = await startOf(db, trigger_event, sent.provider_id ?? null)
  const messages = completed(sent.messages ?? {}, defaultMessages(sent))
  const definition: CampaignDefinition = {
    trigger_event,
    provider_id: start.providerId,
    action_type,
    trigger_delay: sent.trigger_delay ?? durationOf(DEFAULT_DELAY_MINUTES),
    wait: sent.wait ?? durationOf(DEFAULT_WAIT_MINUTES),
    cart_link: cartLink(sent.cart_link ?? null, start),
    discount_id: sent.discount_id ?? null,
    messages,
    filters: sent.filters ?? [],
    split: {
      branches: (sent.split?.branches ?? []).map((branch) => ({
        ...branch,
        messages: { ...messages, ...branch.messages },
      })),
    },
    starts_at: iso(sent.starts_at),
    ends_at: iso(sent.ends_at),
  }
  checkTimes(definition)
  checkTexts(definition, start, sent)
  await checkFilters(db, definition, start)
  if (definition.discount_id !== null && !(await keepsDiscount(db, definition.discount_id)))
    throw refusal('discount_id', 'there is no saved discount with this id')
  return { definition, start }
}

const iso = (at: Date | string | null | undefined): string | null =>
  at === undefined || at === null ? null : new Date(at).toISOString()

function cartLink(sent: SentDefinition['cart_link'] | null, { checkout }: Start): CartLink {
  const type = sent?.type ?? (checkout ? 'checkout' : 'cart')
  const url = sent?.url ?? null
  if (type === 'checkout' && !checkout)
    throw refusal('cart_link.type', 'checkout needs a trigger that tells of a checkout')
  if (type !== 'url') {
    if (url !== null) throw refusal('cart_link.url', 'is for the type url only')
    return { type, url: null }
  }
  if (url === null || !isWebAddress(url))
    throw refusal('cart_link.url', 'must be an address that begins with https://')
  return { type, url }
}

/** With https, and without a password that would be shown to nobody. */
export function isWebAddress(text: string): boolean {
  const url = text.length <= 2_000 && !/\s/.test(text) ? URL.parse(text) : null
  return url?.protocol === 'https:' && url.username === '' && url.password === ''
}

function checkTimes({ trigger_delay, wait, starts_at, ends_at }: CampaignDefinition): void {
  for (const [name, duration] of Object.entries({ trigger_delay, wait }))
    if (minutesOf(duration) > MOST_DELAY_MINUTES) throw refusal(name, 'must be at most 90 days')
  if (starts_at !== null && ends_at !== null && new Date(ends_at) <= new Date(starts_at))
    throw refusal('ends_at', 'must be later than starts_at')
}

/** What messages of a campaign can say. */
export const availableTo = (start: Start, discountId: string | null): Available => ({
  facts: start.facts,
  checkout: start.checkout,
  discount: discountId !== null,
})

function checkTexts(definition: CampaignDefinition, start: Start, sent: SentDefinition): void {
  const { messages, split, action_type: action, discount_id } = definition
  const rules = { action, available: availableTo(start, discount_id) }
  checkMessages(messages, 'messages', { ...rules, nameOf: (name) => givenName(name, sent.messages ?? {}) })
  const names = new Set<string>()
  for (const [index, branch] of split.branches.entries()) {
    const at = `split.branches[${index}]`
    const name = branch.name.trim().toLowerCase()
    if (names.has(name)) throw refusal(`${at}.name`, 'another branch has this name')
    names.add(name)
    checkMessages(branch.messages, `${at}.messages`, { ...rules, nameOf: (one) => one })
  }
  if (split.branches.length === 1)
    throw refusal('split.branches', `must be 2 to ${MOST_BRANCHES} branches, or none`)
}

async function checkFilters(
  db: Pick<Statements, 'many'>,
  { filters }: CampaignDefinition,
  start: Start,
): Promise<void> {
  const read = readFilters(filters, start.facts)
  if (
    start.event === 'segment_entered' &&
    !read.facts.some(({ name, negated }) => name === 'segment_id' && !negated)
  )
    throw refusal(
      'filters',
      'must say which segment is entered: { "field": "event.segment_id", "operator": "=", "value": "…" }',
    )
  const named = segmentsOf(read)
  if (named.length === 0) return
  const kept = await db.many<{ id: string }>('campaign_segments_keep', [named])
  const missing = named.find((id) => !kept.some((segment) => segment.id === id))
  if (missing) throw refusal('filters', `there is no active segment with the id ${missing}`)
}
