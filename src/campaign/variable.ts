import type { LinkKind } from './link.ts'
import type { Fact } from './trigger.ts'

/** Something that a message says of its contact, written `{{namespace.name}}`. */
export interface Variable {
  /** Without its braces. */
  name: string
  label: string
  hint: string
  /** It is there only when the trigger tells of a checkout, or when the campaign has a discount. */
  needs?: 'checkout' | 'discount'
}

export const NAMESPACES = {
  contact: 'Whom the message goes to.',
  brand: 'The brand.',
  checkout: 'The checkout that was abandoned; only when the trigger tells of one.',
  cart: 'Where the cart link of the campaign leads.',
  discount: 'The discount of the campaign; only when it has one.',
  event: 'What the trigger carried; its fields are among the filters.',
  opt_out: 'How to get no more messages.',
} as const

export type Namespace = keyof typeof NAMESPACES

export const CHECKOUT_URL = 'checkout.url'
export const OPT_OUT_LINK = 'opt_out.link'

/** Variables that are shortened links. */
export const LINKS: Readonly<Record<string, LinkKind>> = {
  'cart.link': 'cart',
  [CHECKOUT_URL]: 'checkout',
  [OPT_OUT_LINK]: 'opt_out',
}

/** All but those of the trigger, `event.<fact>`. */
export const VARIABLES: readonly Variable[] = [
  {
    name: 'contact.first_name',
    label: 'First name',
    hint: 'Missing for some: {{contact.first_name|there}} says "there" instead.',
  },
  { name: 'contact.last_name', label: 'Last name', hint: 'Missing for some.' },
  { name: 'brand.name', label: 'Brand name', hint: 'As in the settings of the brand.' },
  { name: 'brand.url', label: 'Store', hint: 'Address of the store, as it is.' },
  {
    name: CHECKOUT_URL,
    label: 'Checkout link',
    hint: 'Shortened and tracked; goes on with the checkout.',
    needs: 'checkout',
  },
  {
    name: 'checkout.total',
    label: 'Checkout total',
    hint: 'With its currency, such as 59.90 USD.',
    needs: 'checkout',
  },
  {
    name: 'checkout.items',
    label: 'Products in the checkout',
    hint: 'Titles, the first three.',
    needs: 'checkout',
  },
  {
    name: 'cart.link',
    label: 'Cart link',
    hint: 'Shortened and tracked; leads where cart_link says.',
  },
  {
    name: 'discount.code',
    label: 'Discount code',
    hint: 'The static code, or one of the contact’s own.',
    needs: 'discount',
  },
  { name: 'discount.name', label: 'Discount name', hint: 'As saved.', needs: 'discount' },
  { name: 'discount.value', label: 'Discount value', hint: 'Such as 10%.', needs: 'discount' },
  {
    name: OPT_OUT_LINK,
    label: 'Opt-out link',
    hint: 'Shortened; whoever follows it gets no more messages on this channel.',
  },
]

/** What there is to say in a campaign of a trigger with these facts. */
export interface Available {
  facts: Readonly<Record<string, Fact>>
  /** The trigger tells of a checkout. */
  checkout: boolean
  discount: boolean
}

/** Every variable that messages of a campaign can say. */
export function variablesOf({ facts, checkout, discount }: Available): Variable[] {
  const there = { checkout, discount }
  return [
    ...VARIABLES.filter(({ needs }) => needs === undefined || there[needs]),
    ...Object.entries(facts).map(([name, { help }]) => ({
      name: `event.${name}`,
      label: labelOf(name),
      hint: `${help[0]?.toUpperCase() ?? ''}${help.slice(1)}.`,
    })),
  ]
}

/** "product_title" becomes "Product title". */
export const labelOf = (name: string): string =>
  name.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase())

export const tokenOf = (name: string): string => `{{${name}}}`
