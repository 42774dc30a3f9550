import { amount, hundredthsOf, minus, sum, times } from '../../store/money.ts'

/** Random choices; the same source makes the same store. */
export interface Choices {
  below(limit: number): number
  chance(share: number): boolean
}

interface Entity {
  id: bigint
  createdAt: Date
  updatedAt: Date
}

export interface ShopConsent {
  state: 'subscribed' | 'unsubscribed' | 'not_subscribed'
  /** Null: the store does not know when. */
  at: Date | null
}

export interface ShopCustomer extends Entity {
  email: string | null
  firstName: string | null
  lastName: string | null
  phone: string | null
  tags: string[]
  emailConsent: ShopConsent | null
  smsConsent: ShopConsent | null
}

export interface ShopProduct extends Entity {
  title: string
  status: 'active' | 'archived'
  price: string
  variants: bigint[]
  images: bigint[]
}

export interface ShopLine {
  id: bigint
  product: ShopProduct
  /** As it was when it was sold. */
  title: string
  quantity: number
  discount: string
}

export interface ShopRefund {
  id: bigint
  createdAt: Date
  total: string
  /** Of its last transaction: money moves with success only. */
  status: 'pending' | 'success' | 'failure'
  /** Transactions before that one, which failed. */
  failures: number
}

export interface ShopFulfillment extends Entity {
  status: string
  shipmentStatus: string | null
  trackingNumber: string
}

export interface ShopOrder extends Entity {
  name: string
  customer: ShopCustomer | null
  email: string | null
  lines: ShopLine[]
  total: string
  financialStatus: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'voided'
  cancelledAt: Date | null
  paidAt: Date | null
  /** Attempts to pay that failed before. */
  failures: number
  test: boolean
  /** What it came of; null: not of a checkout. */
  checkout: Pick<ShopCheckout, 'id' | 'token' | 'cartToken'> | null
  refunds: ShopRefund[]
  fulfillments: ShopFulfillment[]
}

export interface ShopCheckout extends Entity {
  token: string
  cartToken: string
  customer: ShopCustomer | null
  email: string | null
  lines: ShopLine[]
  completedAt: Date | null
}

export interface ShopSubscription extends Entity {
  customer: ShopCustomer
  product: ShopProduct
  status: 'active' | 'paused' | 'cancelled'
  revision: bigint
}

/** Everything that a fake store holds. Ids lie beyond 2^53, where a double loses digits. */
export class ShopState {
  readonly customers: ShopCustomer[] = []
  readonly products: ShopProduct[] = []
  readonly orders: ShopOrder[] = []
  readonly checkouts: ShopCheckout[] = []
  readonly subscriptions: ShopSubscription[] = []
  readonly currency: string
  readonly presentment: string
  #next = 9_007_199_254_740_993n

  constructor(currency = 'USD', presentment = 'EUR') {
    this.currency = currency
    this.presentment = presentment
  }

  id(): bigint {
    this.#next += 2n
    return this.#next
  }

  #made(at: Date): Entity {
    return { id: this.id(), createdAt: at, updatedAt: at }
  }

  addProduct(at: Date, price: string): ShopProduct {
    const made = this.#made(at)
    const product: ShopProduct = {
      ...made,
      title: `Product ${this.products.length + 1}`,
      status: 'active',
      price,
      variants: [made.id + 1n],
      images: [made.id + 2n],
    }
    this.products.push(product)
    return product
  }

  addCustomer(at: Date): ShopCustomer {
    const number = this.customers.length + 1
    const customer: ShopCustomer = {
      ...this.#made(at),
      email: `shopper${number}@example.com`,
      firstName: `First${number}`,
      lastName: `Last${number}`,
      phone: number % 3 === 0 ? `+1415555${String(2000 + number)}` : null,
      tags: [],
      emailConsent: null,
      smsConsent: null,
    }
    this.customers.push(customer)
    return customer
  }

  lines(choices: Choices): ShopLine[] {
    return Array.from({ length: 1 + choices.below(3) }, () =>
      this.line(
        this.products[choices.below(this.products.length)] as ShopProduct,
        1 + choices.below(3),
        choices.chance(0.3) ? '1.50' : '0.00',
      ),
    )
  }

  line(product: ShopProduct, quantity: number, discount = '0.00'): ShopLine {
    return { id: this.id(), product, title: product.title, quantity, discount }
  }

  addCheckout(
    at: Date,
    cartToken: string,
    customer: ShopCustomer | null,
    email: string | null,
    lines: ShopLine[],
  ): ShopCheckout {
    const made = this.#made(at)
    const checkout = { ...made, token: `c${made.id}`, cartToken, customer, email, lines, completedAt: null }
    this.checkouts.push(checkout)
    return checkout
  }

  addOrder(
    at: Date,
    from: Pick<ShopCheckout, 'customer' | 'email' | 'lines'>,
    more: Partial<ShopOrder> = {},
  ): ShopOrder {
    const order: ShopOrder = {
      ...this.#made(at),
      name: `#${1001 + this.orders.length}`,
      customer: from.customer,
      email: from.email ?? from.customer?.email ?? null,
      lines: from.lines,
      total: totalOf(from.lines),
      financialStatus: 'pending',
      cancelledAt: null,
      paidAt: null,
      failures: 0,
      test: false,
      checkout: null,
      refunds: [],
      fulfillments: [],
      ...more,
    }
    this.orders.push(order)
    return order
  }

  addSubscription(at: Date, customer: ShopCustomer, product: ShopProduct): ShopSubscription {
    const subscription: ShopSubscription = {
      ...this.#made(at),
      customer,
      product,
      status: 'active',
      revision: this.id(),
    }
    this.subscriptions.push(subscription)
    return subscription
  }

  /** A share of what is left of an order; its money is on its way until it is settled. */
  refund(order: ShopOrder, at: Date, share: number): ShopRefund {
    const promised = order.refunds.filter(({ status }) => status !== 'failure')
    const left = hundredthsOf(order.total) - hundredthsOf(sum(promised.map(({ total }) => total)))
    const cents = share >= 1 ? left : (left * BigInt(Math.round(share * 100))) / 100n
    const total = amount(cents > 0n ? cents : 0n)
    const refund: ShopRefund = { id: this.id(), createdAt: at, total, status: 'pending', failures: 0 }
    order.refunds.push(refund)
    order.updatedAt = at
    return refund
  }

  settleRefund(order: ShopOrder, refund: ShopRefund, at: Date, status: 'success' | 'failure'): void {
    refund.status = status
    order.updatedAt = at
    const back = order.refunds.filter((one) => one.status === 'success')
    const isWhole = sum(back.map(({ total }) => total)) === order.total
    order.financialStatus = isWhole ? 'refunded' : back.length ? 'partially_refunded' : 'paid'
  }

  fulfill(order: ShopOrder, at: Date): ShopFulfillment {
    const made = this.#made(at)
    const fulfillment = { ...made, status: 'pending', shipmentStatus: null, trackingNumber: `T${made.id}` }
    order.fulfillments.push(fulfillment)
    order.updatedAt = at
    return fulfillment
  }
}

export const totalOf = (lines: readonly ShopLine[]) =>
  sum(lines.map(({ quantity, product, discount }) => minus(times(quantity, product.price), discount)))

export const discountsOf = (lines: readonly ShopLine[]) => sum(lines.map(({ discount }) => discount))
