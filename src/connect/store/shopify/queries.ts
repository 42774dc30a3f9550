// The Admin API's queries, as small as what is read needs: their cost is what the store throttles by.

const PAGE = 'pageInfo { hasNextPage endCursor }'
const MONEY = '{ shopMoney { amount currencyCode } }'
const ARGUMENTS = '($first: Int!, $after: String, $query: String, $sortKey: '
const USED = '(first: $first, after: $after, query: $query, sortKey: $sortKey)'

export const SHOP = `query shop {
  shop { myshopifyDomain currencyCode }
  currentAppInstallation { accessScopes { handle } }
}`

export const COUNTS = {
  customers: 'query count($query: String) { count: customersCount(query: $query) { count } }',
  products: 'query count($query: String) { count: productsCount(query: $query) { count } }',
  orders: 'query count($query: String) { count: ordersCount(query: $query) { count } }',
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
      variants(first: 100) { nodes { id price sku } }
      images(first: 20) { nodes { id url altText } }
    }
  }
}`

const LINES = `${PAGE} nodes { id quantity sku title product { id } variant { id }
  originalUnitPriceSet ${MONEY} discountedTotalSet ${MONEY} }`

const ORDERS = `query orders${ARGUMENTS}OrderSortKeys!) {
  page: orders${USED} {
    ${PAGE}
    nodes {
      id name email phone test createdAt processedAt updatedAt cancelledAt displayFinancialStatus displayFulfillmentStatus currencyCode
      discountCodes cartToken checkoutToken
      subtotalPriceSet ${MONEY} totalDiscountsSet ${MONEY} totalPriceSet ${MONEY}
      customer { id email phone firstName lastName }
      transactions(first: 20) { kind status processedAt }
      refunds(first: 20) { id createdAt transactions(first: 10) { nodes { kind status amountSet ${MONEY} } } }
      fulfillments(first: 20) {
        id status displayStatus createdAt updatedAt trackingInfo { company number url }
      }
      lineItems(first: 50) { ${LINES} }
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

/** Lines of an order that has more than a page of orders brings. */
export const MORE_LINES = `query lines($id: ID!, $after: String) {
  order(id: $id) { lineItems(first: 250, after: $after) { ${LINES} } }
}`
