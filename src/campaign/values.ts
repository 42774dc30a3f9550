import { writtenOut } from '../event/written-out.ts'
import type { Brand } from '../op.ts'
import { storeUrl } from './cart-link.ts'
import { isClickable, isClickableName } from './clickable.ts'
import type { Discount } from './discount.ts'
import { carried } from './fact.ts'
import type { Recipient } from './recipient.ts'
import { said, type Values } from './template.ts'
import { isPredefined, TRIGGERS } from './trigger.ts'

/** What the variables of a message stand for. */
export interface Said {
  recipient: Pick<Recipient, 'first_name' | 'last_name'>
  brand: Pick<Brand, 'name' | 'shop_domain' | 'storefront_domains' | 'currency_code'>
  trigger: string
  /** What the trigger carried. */
  facts: Readonly<Record<string, unknown>>
  discount: { saved: Pick<Discount, 'name' | 'type' | 'value'>; code: string } | null
  /** The message that they are said in. */
  template: string
}

const MOST_TITLES = 3

/** The values of all variables but links; null where there is nothing to say. */
export function valuesOf({ recipient, brand, trigger, facts: given, discount, template }: Said): Values {
  const facts = trigger === 'browse_abandoned' ? withoutLinks(given) : given
  const own = Object.entries(facts).map(([name, value]) => [`event.${name}`, plain(value)])
  const offered = isPredefined(trigger) ? Object.entries(TRIGGERS[trigger].facts) : []
  const currency = currencyOf(facts, brand.currency_code)
  const known = offered.map(([name, fact]) => {
    const value = carried(name, fact, facts)
    return [`event.${name}`, fact.type === 'money' ? amountOf(value, currency) : plain(value)]
  })
  return {
    ...Object.fromEntries([...own, ...known]),
    ...namesOf(recipient, template),
    'brand.name': brand.name,
    'brand.url': storeUrl(brand),
    'checkout.total': totalOf(facts, brand.currency_code),
    'checkout.items': titlesOf(facts),
    'discount.code': discount?.code,
    'discount.name': discount?.saved.name,
    'discount.value': discount && discountValue(discount.saved, brand.currency_code),
  }
}

/** Of a product that is in the catalog these are as the catalog has them. */
const CATALOGED = ['product_id', 'product_title']

/**
 * Anyone can forge an event of a page: a message must not carry their link. Facts that do not say whether the product is
 * in the catalog are of a version that kept no link of a page.
 */
function withoutLinks(facts: Said['facts']): Said['facts'] {
  const isSaid = (name: string, value: unknown) =>
    (facts.in_catalog !== false && CATALOGED.includes(name)) || !isClickable(String(value))
  return Object.fromEntries(Object.entries(facts).filter(([name, value]) => isSaid(name, value)))
}

/**
 * Anyone can write a name into a checkout with somebody else's address: a message must not carry their link, nor one
 * that two names make together. Without a space between them only where the message has none, or "J." of "Smith" would
 * be taken for one.
 */
function namesOf({ first_name, last_name }: Said['recipient'], template: string): Values {
  const [first, last] = [nameOf(first_name), nameOf(last_name)]
  const together = (template.includes('}}{{') ? ['', ' '] : [' ']).flatMap((between) => [
    first + between + last,
    last + between + first,
  ])
  return together.some(isClickableName)
    ? {}
    : { 'contact.first_name': first || null, 'contact.last_name': last || null }
}

function nameOf(given: string | null): string {
  const name = said(given)
  return isClickableName(name) ? '' : name
}

/** Texts, numbers and truths as they are; lists of them one after the other. */
function plain(value: unknown): string | null {
  if (Array.isArray(value)) return value.map(plain).filter(Boolean).join(', ') || null
  if (typeof value === 'number') return writtenOut(String(value))
  return value === null || value === undefined || typeof value === 'object' ? null : String(value)
}

/** An amount with as many decimals as its currency has: one that was sent as a number has no zeros at its end. */
function amountOf(value: unknown, currency: string): string | null {
  const said = plain(value)
  const [amount, whole, , decimals = ''] = /^(-?\d{1,15})(\.(\d+))?$/.exec(said ?? '') ?? []
  if (amount === undefined) return said
  const kept = decimals.replace(/0+$/, '').padEnd(decimalsOf(currency), '0')
  return kept ? `${whole}.${kept}` : `${whole}`
}

/** None of JPY, three of KWD. */
function decimalsOf(currency: string): number {
  try {
    const options = { style: 'currency', currency } as const
    return new Intl.NumberFormat('en', options).resolvedOptions().maximumFractionDigits ?? 2
  } catch {
    return 2
  }
}

const currencyOf = ({ currency_code }: Said['facts'], ofBrand: string): string =>
  plain(currency_code) ?? ofBrand

function totalOf(facts: Said['facts'], ofBrand: string): string | null {
  const currency = currencyOf(facts, ofBrand)
  const amount = amountOf(facts.total, currency)
  return amount === null ? null : `${amount} ${currency}`
}

function titlesOf({ items }: Said['facts']): string | null {
  if (!Array.isArray(items)) return null
  const titles = items.flatMap((item) => plain((item as Record<string, unknown> | null)?.product_title) ?? [])
  const named = titles.slice(0, MOST_TITLES).join(', ')
  const more = titles.length - MOST_TITLES
  return named === '' ? null : more > 0 ? `${named} and ${more} more` : named
}

/** 10% or 5.00 USD. */
function discountValue({ type, value }: Pick<Discount, 'type' | 'value'>, currency: string): string {
  if (type === 'free_shipping' || value === null) return 'free shipping'
  return type === 'percentage'
    ? `${value.replace(/\.?0+$/, '')}%`
    : `${amountOf(value, currency)} ${currency}`
}
