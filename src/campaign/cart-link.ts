import { type CartLink, isWebAddress } from './definition.ts'

interface Store {
  shop_domain: string
  storefront_domains: readonly string[]
}

/** Of a brand, where its links may lead. */
export interface LinkBrand extends Store {
  /** Domain under which the shops of the store platform live. */
  storePlatformDomain: string
}

type Facts = Readonly<Record<string, unknown>>

export const storeUrl = ({ shop_domain, storefront_domains }: Store): string =>
  `https://${storefront_domains[0] ?? shop_domain}/`

/** The store's front page; the platform's stores have an address that fills a code in and goes on there. */
function frontPage(brand: LinkBrand, code: string | null): string {
  const takesCode = code !== null && brand.shop_domain.endsWith(`.${brand.storePlatformDomain}`)
  return takesCode ? `${storeUrl(brand)}discount/${encodeURIComponent(code)}` : storeUrl(brand)
}

/** Where the cart link of a campaign leads for what its trigger carried; a code is filled in there. */
export function cartUrl(link: CartLink, facts: Facts, brand: LinkBrand, code: string | null = null): string {
  switch (link.type) {
    case 'url':
      return link.url ?? frontPage(brand, code)
    case 'checkout':
      return checkoutUrl(facts, brand, code)
    case 'cart':
      return cartOf(facts, brand, code) ?? frontPage(brand, code)
  }
}

/** Where a checkout goes on; else a cart with its products, else the store. */
export function checkoutUrl(facts: Facts, brand: LinkBrand, code: string | null = null): string {
  const url = facts.checkout_url
  if (typeof url === 'string' && isOfBrand(url, brand)) return withCode(new URL(url), code)
  return cartOf(facts, brand, code) ?? frontPage(brand, code)
}

/** What comes with an event may be anybody's word: it leads nowhere but to the brand. */
function isOfBrand(text: string, { shop_domain, storefront_domains }: Store): boolean {
  if (!isWebAddress(text)) return false
  const { hostname, port } = new URL(text)
  return port === '' && [shop_domain, ...storefront_domains].includes(hostname)
}

const MOST_ITEMS = 50

/** The store's own address of a cart: `/cart/<variant>:<quantity>,…`. */
function cartOf(facts: Facts, brand: LinkBrand, code: string | null): string | null {
  const items = Array.isArray(facts.items) ? facts.items : [facts]
  const lines = items.slice(0, MOST_ITEMS).flatMap((item: Facts | null) => {
    const variant = String(item?.variant_id ?? '')
    const quantity = Number(item?.quantity ?? 1)
    const isLine =
      /^\d{1,20}$/.test(variant) && Number.isInteger(quantity) && quantity > 0 && quantity < 1_000
    return isLine ? [`${variant}:${quantity}`] : []
  })
  return lines.length === 0 ? null : withCode(new URL(`cart/${lines.join(',')}`, storeUrl(brand)), code)
}

function withCode(url: URL, code: string | null): string {
  if (code !== null) url.searchParams.set('discount', code)
  return url.href
}
