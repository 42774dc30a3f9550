/** A JSON Schema of one property. */
export interface PropertySchema {
  description: string
  [keyword: string]: unknown
}

const text = (description: string): PropertySchema => ({ type: 'string', description })
const whole = (description: string): PropertySchema => ({ type: 'integer', minimum: 0, description })

/** Ids and sums come as text, or as numbers from stores whose ids are numbers. */
const textOrNumber = (description: string): PropertySchema => ({ type: ['string', 'number'], description })

export const CURRENCY = text('Three letters of ISO 4217, such as USD')
export const TOTAL = textOrNumber('Sum in the currency of currency_code, such as 129.00')

export const PAGE = {
  url: text('Address of the page'),
  path: text('Path of the page'),
  title: text('Title of the page'),
  referrer: text('Address of the page before'),
  utm_source: text('Campaign source'),
  utm_medium: text('Campaign medium'),
  utm_campaign: text('Campaign name'),
  utm_term: text('Campaign term'),
  utm_content: text('Campaign content'),
  landing_page: text('First page of the visit'),
  session_id: text('Id of the visit'),
}

export const PRODUCT = {
  product_id: textOrNumber('Product'),
  variant_id: textOrNumber('Variant of the product'),
  product_title: text('Title of the product'),
  sku: text('Stock keeping unit'),
  price: textOrNumber('Price of one unit, such as 49.50'),
  currency_code: CURRENCY,
  quantity: whole('Units'),
}

export const ITEMS = {
  item_count: whole('Units of all items'),
  items: {
    type: 'array',
    description: 'What is in it',
    items: { type: 'object', properties: PRODUCT },
  },
}

export const CART = {
  cart_id: textOrNumber('Cart'),
  total: TOTAL,
  currency_code: CURRENCY,
  ...ITEMS,
}

export const CHECKOUT = {
  ...CART,
  checkout_id: textOrNumber('Checkout'),
  checkout_url: text('Address at which the checkout goes on'),
}

export const ORDER = {
  order_id: textOrNumber('Order'),
  order_number: textOrNumber('Number that the customer knows the order by'),
  discount_code: text('Discount code that was used'),
}

export const COLLECTION = {
  collection_id: textOrNumber('Collection'),
  collection_title: text('Title of the collection'),
}

export const LINK = {
  message_id: text('Message that the link was in'),
  conversation_id: text('Conversation of the message'),
  campaign_id: text('Campaign that sent the message'),
}

export { text, textOrNumber }
