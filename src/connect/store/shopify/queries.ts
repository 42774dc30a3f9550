import type { Entity } from './nodes.ts'

// The Admin API's queries, as small as what is read needs: their cost is what the store throttles by.

const PAGE = 'pageInfo { hasNextPage endCursor }'
const MONEY = '{ shopMoney { amount currencyCode } }'
const ARGUMENTS = '($first: Int!, $after: String, $query: String, $sortKey: '
const USED = '(first: $first, after: $after, query: $query, sortKey: $sortKey)'

/** A list with pages within a record, or within each entry of another of its lists. */
export interface InnerList {
  /** The query of one that has it. */
  of: 'order' | 'product' | 'refund'
  /** That other list. */
  within?: 'refunds'
  name: string
  fields: string
  /** How many of it a page of records brings. */
  begins: number
  /** How many of it can be asked for at once, of one record. */
  most: number
}

const LINE = `id quantity currentQuantity sku title product { id } variant { id }
  originalUnitPriceSet ${MONEY} discountAllocations { allocatedAmountSet ${MONEY} }`
const TRANSACTION = `kind status amountSet ${MONEY}`
const REFUND_LINE = 'quantity lineItem { id }'

/** What is asked of one order costs less than 1,000 points, more than which the store takes for no query. */
export const LISTS: Readonly<Record<Entity, readonly InnerList[]>> = {
  customers: [],
  products: [
    { of: 'product', name: 'variants', fields: 'id price sku', begins: 100, most: 250 },
    { of: 'product', name: 'images', fields: 'id url altText', begins: 20, most: 250 },
  ],
  orders: [
    { of: 'order', name: 'lineItems', fields: LINE, begins: 50, most: 100 },
    { of: 'refund', within: 'refunds', name: 'transactions', fields: TRANSACTION, begins: 10, most: 100 },
    { of: 'refund', within: 'refunds', name: 'refundLineItems', fields: REFUND_LINE, begins: 10, most: 100 },
  ],
  subscriptions: [],
}

const contentOf = ({ fields }: InnerList) => `${PAGE} nodes { ${fields} }`

const begunIn = (entity: 'products' | 'orders', within?: InnerList['within']) =>
  LISTS[entity]
    .filter((list) => list.within === within)
    .map((list) => `${list.name}(first: ${list.begins}) { ${contentOf(list)} }`)
    .join('\n      ')

/** More of such a list. */
export const restOf = (list: InnerList) => `query rest($id: ID!, $after: String, $first: Int!) {
  record: ${list.of}(id: $id) { list: ${list.name}(first: $first, after: $after) { ${contentOf(list)} } }
}`

export const SHOP = `query shop {
  shop { myshopifyDomain currencyCode }
  currentAppInstallation { accessScopes { handle } }
}`

export const COUNTS = {
  customers: 'query count { count: customersCount(limit: null) { count } }',
  products: 'query count { count: productsCount(limit: null) { count } }',
  orders: 'query count { count: ordersCount(limit: null) { count } }',
}

const CUSTOMERS = `query customers${ARGUMENTS}CustomerSortKeys!) {
  page: customers${USED} {
    ${PAGE}
    nodes {
      id email phone firstName lastName tags createdAt updatedAt
      emailMarketingConsent { marketingState consentUpdatedAt }
      smsMarketingConsent { marketingState consentUpdatedAt }
    }
  }
}`

const PRODUCTS = `query products${ARGUMENTS}ProductSortKeys!) {
  page: products${USED} {
    ${PAGE}
    nodes {
      id title status updatedAt
      ${begunIn('products')}
    }
  }
}`

// Lists without pages come whole: with `first` the store would cut them and not say so. A query's cost grows with those
// that have pages only.
const ORDERS = `query orders${ARGUMENTS}OrderSortKeys!) {
  page: orders${USED} {
    ${PAGE}
    nodes {
      id name email phone test createdAt processedAt updatedAt cancelledAt displayFinancialStatus displayFulfillmentStatus currencyCode
      discountCodes cartToken checkoutToken
      totalDiscountsSet ${MONEY} totalPriceSet ${MONEY} currentTotalPriceSet ${MONEY} totalOutstandingSet ${MONEY}
      customer { id email phone firstName lastName }
      transactions { kind status processedAt }
      refunds { id createdAt ${begunIn('orders', 'refunds')} }
      fulfillments { id status displayStatus createdAt updatedAt trackingInfo { company number url } }
      ${begunIn('orders')}
    }
  }
}`

const SUBSCRIPTIONS = `query subscriptions${ARGUMENTS}SubscriptionContractsSortKeys!) {
  page: subscriptionContracts${USED} {
    ${PAGE}
    nodes {
      id status revisionId createdAt updatedAt nextBillingDate currencyCode
      customer { id email phone }
      billingPolicy { interval intervalCount }
      lines(first: 1) { nodes { title productId currentPrice { amount } } }
    }
  }
}`

export const PAGES = {
  customers: CUSTOMERS,
  products: PRODUCTS,
  orders: ORDERS,
  subscriptions: SUBSCRIPTIONS,
}
