import {
  CART,
  CHECKOUT,
  COLLECTION,
  LINK,
  ORDER,
  PAGE,
  PRODUCT,
  type PropertySchema,
  text,
} from './properties.ts'

/** What happens in a shopper's browser, by event type. */
export const STOREFRONT_PROPERTIES: Record<
  string,
  { what: string; properties: Record<string, PropertySchema> }
> = {
  page_viewed: { what: 'A page of the store is opened.', properties: PAGE },
  product_viewed: { what: 'A product is looked at.', properties: { ...PAGE, ...PRODUCT } },
  collection_viewed: { what: 'A collection is looked at.', properties: { ...PAGE, ...COLLECTION } },
  search_submitted: {
    what: 'The store is searched.',
    properties: { ...PAGE, query: text('What was searched for') },
  },
  cart_viewed: { what: 'The cart is looked at.', properties: { ...PAGE, ...CART } },
  product_added_to_cart: {
    what: 'A product is put into the cart.',
    properties: { ...PAGE, ...PRODUCT, ...CART },
  },
  product_removed_from_cart: {
    what: 'A product is taken out of the cart.',
    properties: { ...PAGE, ...PRODUCT, ...CART },
  },
  checkout_started: { what: 'A checkout begins.', properties: { ...PAGE, ...CHECKOUT } },
  checkout_contact_info_submitted: {
    what: 'A shopper gives an email address or phone number in a checkout.',
    properties: { ...PAGE, ...CHECKOUT },
  },
  checkout_address_info_submitted: {
    what: 'A shopper gives an address in a checkout.',
    properties: { ...PAGE, ...CHECKOUT },
  },
  checkout_shipping_info_submitted: {
    what: 'A shopper chooses how to be delivered to in a checkout.',
    properties: { ...PAGE, ...CHECKOUT },
  },
  payment_info_submitted: {
    what: 'A shopper gives how to pay in a checkout.',
    properties: { ...PAGE, ...CHECKOUT },
  },
  checkout_completed: {
    what: 'A checkout ends in an order.',
    properties: { ...PAGE, ...CHECKOUT, ...ORDER },
  },
  link_clicked: { what: 'A shortened link of a message is clicked.', properties: { ...PAGE, ...LINK } },
  updateProperties: {
    what: 'Properties of a visitor are set, of an event with more than 16 KB of them none; an email address or phone number among them identifies the visitor.',
    properties: {
      email: text('Email address'),
      phone: text('Phone number'),
    },
  },
  view: { what: 'Something of the store is looked at.', properties: PAGE },
  modifyConsent: {
    what: 'A visitor changes what they agree to.',
    properties: { ...PAGE },
  },
}
