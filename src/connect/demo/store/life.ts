import {
  bodyOf,
  cartBody,
  checkoutBody,
  customerBody,
  fulfillmentBody,
  orderBody,
  productBody,
  refundBody,
  seconds,
  subscriptionBody,
} from './rest.ts'
import type { Choices, ShopConsent, ShopCustomer, ShopOrder, ShopProduct, ShopState } from './state.ts'

/** A webhook as the store would send it. */
export interface Message {
  topic: string
  triggeredAt: Date
  body: string
}

const MINUTE_MS = 60_000
/** The store removes a checkout no sooner: until then somebody may remind its shopper. */
const LEFT_MS = 120 * MINUTE_MS

/** Some that nobody else has: who changes them may come back to one. */
const numbersOf = ({ id }: ShopCustomer) =>
  [0n, 1n].map((n) => `+1212555${String((id % 5_000n) * 2n + n).padStart(4, '0')}`)

/** A store that lives: each step changes something and tells of it. */
export class ShopLife {
  readonly state: ShopState
  readonly #choices: Choices
  #now: number
  #messages: Message[] = []
  #isLive = false

  constructor(state: ShopState, choices: Choices, startsAt: Date) {
    this.state = state
    this.#choices = choices
    this.#now = startsAt.getTime()
  }

  get now(): Date {
    return new Date(this.#now)
  }

  /** From here on its time is ours. */
  live(): void {
    this.#isLive = true
  }

  /** What was told since the last call, in the order of its happening. */
  messages(): Message[] {
    const told = this.#messages
    this.#messages = []
    return told
  }

  #tell(topic: string, payload: object): void {
    // Several within one second: only the trigger's time tells them apart.
    this.#now += 1 + this.#choices.below(400)
    this.#messages.push({ topic, triggeredAt: this.now, body: bodyOf(payload) })
  }

  /** So many products and customers. */
  open({ products, customers }: { products: number; customers: number }): void {
    for (let at = 0; at < products; at++) {
      const product = this.state.addProduct(
        this.now,
        `${5 + this.#choices.below(90)}.${10 + this.#choices.below(89)}`,
      )
      this.#tell('products/create', productBody(product))
    }
    for (let at = 0; at < customers; at++)
      this.#tell('customers/create', customerBody(this.state.addCustomer(this.now)))
  }

  step(): void {
    this.#pass(20 * MINUTE_MS)
    const steps = [
      () => this.#shop(),
      () => this.#shop(),
      () => this.#changeOrder(),
      () => this.#changeOrder(),
      () => this.#changeCustomer(),
      () => this.#changeProduct(),
      () => this.#remove(),
      () => this.#changeSubscription(),
    ]
    steps[this.#choices.below(steps.length)]?.()
  }

  /** As a step that is about a customer. */
  stepOfCustomer(): void {
    this.#pass(20 * MINUTE_MS)
    if (this.#choices.chance(0.2)) this.#shop()
    else this.#changeCustomer()
  }

  #pass(mostMs: number): void {
    this.#now = this.#isLive ? Math.max(Date.now(), this.#now) : this.#now + this.#choices.below(mostMs)
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[this.#choices.below(list.length)]
  }

  /** A cart, a checkout, mostly an order. */
  #shop(): void {
    const { state } = this
    const lines = state.lines(this.#choices)
    const cart = `cart${state.id()}`
    this.#tell('carts/create', cartBody(state, cart, lines, this.now))
    // Most look around and leave.
    if (this.#choices.chance(0.2)) return
    const guest = this.#choices.chance(0.2)
    const customer = guest ? null : (this.#pick(state.customers) ?? null)
    const checkout = state.addCheckout(
      this.now,
      cart,
      customer,
      guest ? `guest${state.id()}@example.com` : null,
      lines,
    )
    this.#tell('checkouts/create', checkoutBody(state, checkout))
    if (this.#choices.chance(0.5)) {
      this.#pass(5 * MINUTE_MS)
      checkout.updatedAt = this.now
      this.#tell('checkouts/update', checkoutBody(state, checkout))
    }
    if (this.#choices.chance(0.2)) return
    const order = state.addOrder(this.now, checkout, {
      checkout,
      test: this.#choices.chance(0.1),
      financialStatus: this.#choices.chance(0.8) ? 'paid' : 'pending',
    })
    checkout.completedAt = this.now
    checkout.updatedAt = this.now
    this.#tell('orders/create', orderBody(state, order))
    if (order.financialStatus === 'paid') this.#tell('orders/paid', orderBody(state, order))
    if (this.#choices.chance(0.5)) this.#tell('checkouts/update', checkoutBody(state, checkout))
  }

  #changeOrder(): void {
    const order = this.#pick(this.state.orders)
    if (!order) return
    const { state } = this
    const waiting = order.refunds.find(({ status }) => status === 'pending')
    if (order.financialStatus === 'pending' && !order.cancelledAt) {
      this.#payOrCancel(order)
    } else if (waiting) {
      state.settleRefund(order, waiting, this.now, this.#choices.chance(0.7) ? 'success' : 'failure')
    } else if (order.financialStatus === 'paid' && this.#choices.chance(0.6)) {
      const fulfillment = order.fulfillments.at(-1)
      if (!fulfillment) {
        this.#tell('fulfillments/create', fulfillmentBody(order, state.fulfill(order, this.now)))
      } else {
        fulfillment.status = 'success'
        fulfillment.shipmentStatus = fulfillment.shipmentStatus === null ? 'in_transit' : 'delivered'
        fulfillment.updatedAt = this.now
        order.updatedAt = this.now
        this.#tell('fulfillments/update', fulfillmentBody(order, fulfillment))
      }
    } else if (['paid', 'partially_refunded'].includes(order.financialStatus)) {
      const refund = state.refund(order, this.now, this.#choices.chance(0.5) ? 1 : 0.3)
      // Mostly at once.
      if (this.#choices.chance(0.6)) state.settleRefund(order, refund, this.now, 'success')
      this.#tell('refunds/create', refundBody(state, order, refund))
    }
    this.#tell('orders/updated', orderBody(state, order))
  }

  #payOrCancel(order: ShopOrder): void {
    order.updatedAt = this.now
    if (this.#choices.chance(0.7)) {
      order.financialStatus = 'paid'
      order.paidAt = this.now
      this.#tell('orders/paid', orderBody(this.state, order))
    } else {
      order.cancelledAt = this.now
      order.financialStatus = 'voided'
      this.#tell('orders/cancelled', orderBody(this.state, order))
    }
  }

  #changeCustomer(): void {
    const customer: ShopCustomer | undefined = this.#pick(this.state.customers)
    if (!customer) return
    customer.updatedAt = this.now
    const change = this.#choices.below(6)
    if (change === 0) this.#rename(customer)
    else if (change === 1 && this.#choices.chance(0.3)) this.#handOver(customer)
    else if (change === 1) this.#move(customer)
    else this.#decide(customer)
    this.#tell('customers/update', customerBody(customer))
  }

  #rename(customer: ShopCustomer): void {
    if (this.#choices.chance(0.3)) customer.firstName = customer.firstName === null ? 'Again' : null
    else customer.tags = this.#choices.chance(0.3) ? [] : [...customer.tags, `tag${this.#choices.below(5)}`]
  }

  /** Another address or number, or none any more; the store takes the consent along or not. */
  #move(customer: ShopCustomer): void {
    const isGone = this.#choices.chance(0.3)
    const isEmail = this.#choices.chance(0.5)
    if (isEmail) customer.email = isGone ? null : `new${this.state.id()}@example.com`
    else customer.phone = isGone ? null : (this.#pick(numbersOf(customer)) ?? null)
    if (isGone || this.#choices.chance(0.5)) customer[isEmail ? 'emailConsent' : 'smsConsent'] = null
  }

  /** Takes the email of another customer, who has a new one since or none. */
  #handOver(customer: ShopCustomer): void {
    const other = this.#pick(this.state.customers)
    if (!other || other === customer || other.email === null) return
    Object.assign(customer, { email: other.email, emailConsent: null })
    const email = this.#choices.chance(0.5) ? `new${this.state.id()}@example.com` : null
    Object.assign(other, { email, emailConsent: null, updatedAt: this.now })
    this.#tell('customers/update', customerBody(other))
    customer.updatedAt = this.now
  }

  #decide(customer: ShopCustomer): void {
    const consent: ShopConsent | null =
      this.#pick<ShopConsent | null>([
        { state: 'subscribed', at: this.now },
        { state: 'subscribed', at: this.now },
        { state: 'unsubscribed', at: this.now },
        { state: 'not_subscribed', at: null },
        null,
      ]) ?? null
    const { id } = customer
    if (this.#choices.chance(0.5)) {
      customer.smsConsent = customer.phone === null ? null : consent
      const { phone, sms_marketing_consent } = customerBody(customer)
      const told = { customer_id: id, phone, sms_marketing_consent }
      this.#tell('customers_marketing_consent/update', { ...told, updated_at: seconds(customer.updatedAt) })
    } else {
      customer.emailConsent = customer.email === null ? null : consent
      const { email, email_marketing_consent } = customerBody(customer)
      const told = { customer_id: id, email_address: email, email_marketing_consent }
      this.#tell('customers_email_marketing_consent/update', {
        ...told,
        updated_at: seconds(customer.updatedAt),
      })
    }
  }

  /** A checkout that nobody came back to, an order that was cancelled or a test, or a customer who never ordered. */
  #remove(): void {
    const { state } = this
    const order = state.orders.find(({ cancelledAt, test }) => cancelledAt !== null || test)
    if (order && this.#choices.chance(0.3)) {
      state.orders.splice(state.orders.indexOf(order), 1)
      this.#tell('orders/delete', { id: order.id })
      return
    }
    const left = this.#now - LEFT_MS
    const checkout = state.checkouts.find((one) => one.completedAt === null && one.updatedAt.getTime() < left)
    if (checkout && this.#choices.chance(0.5)) {
      state.checkouts.splice(state.checkouts.indexOf(checkout), 1)
      this.#tell('checkouts/delete', { id: checkout.id })
    } else if (this.#choices.chance(0.3)) {
      const named = [...state.orders, ...state.checkouts, ...state.subscriptions]
      const customer = state.customers.find((one) => !named.some((other) => other.customer === one))
      if (customer) state.customers.splice(state.customers.indexOf(customer), 1)
      if (customer) this.#tell('customers/delete', { id: customer.id })
    }
  }

  #changeProduct(): void {
    const product: ShopProduct | undefined = this.#pick(this.state.products)
    if (!product) return
    product.title = `${product.title.split(' (')[0]} (${this.#choices.below(100)})`
    product.updatedAt = this.now
    this.#tell('products/update', productBody(product))
  }

  #changeSubscription(): void {
    const { state } = this
    const subscription = this.#pick(state.subscriptions)
    const customer = this.#pick(state.customers)
    const product = this.#pick(state.products)
    if (!customer || !product) return
    if (!subscription || this.#choices.chance(0.3)) {
      const made = state.addSubscription(this.now, customer, product)
      this.#tell('subscription_contracts/create', subscriptionBody(state, made))
      return
    }
    if (subscription.status !== 'cancelled' && this.#choices.chance(0.8))
      subscription.status =
        subscription.status === 'paused' ? 'active' : this.#choices.chance(0.7) ? 'paused' : 'cancelled'
    subscription.revision = state.id()
    subscription.updatedAt = this.now
    this.#tell('subscription_contracts/update', subscriptionBody(state, subscription))
  }
}
