import { fail } from '../../../errors.ts'
import type { NewCode } from '../discount.ts'
import { Fields } from '../fields.ts'
import type { AdminApi } from './client.ts'

const MADE = '{ codeDiscountNode { id } userErrors { code message } }'
const BASIC = `mutation discount($input: DiscountCodeBasicInput!) {
  made: discountCodeBasicCreate(basicCodeDiscount: $input) ${MADE}
}`
const FREE_SHIPPING = `mutation discount($input: DiscountCodeFreeShippingInput!) {
  made: discountCodeFreeShippingCreate(freeShippingCodeDiscount: $input) ${MADE}
}`

/** Makes a code in the store; one that is there already was made by a call whose answer was lost. */
export async function createCode(api: AdminApi, code: NewCode): Promise<void> {
  const text = code.type === 'free_shipping' ? FREE_SHIPPING : BASIC
  const made = new Fields(await api.query(text, { input: inputOf(code) })).object('made')
  const problems = made?.list('userErrors') ?? []
  const other = problems.find((problem) => problem.text('code') !== 'TAKEN')
  if (other) throw fail('upstream_error', `The store refuses the discount: ${other.text('message')}`)
  if (problems.length === 0 && !made?.object('codeDiscountNode'))
    throw fail('upstream_error', 'The store did not say that it made the discount.')
}

function inputOf({ title, code, type, value, minimum, startsAt, endsAt }: NewCode) {
  return {
    title,
    code,
    startsAt: startsAt.toISOString(),
    endsAt: endsAt?.toISOString() ?? null,
    usageLimit: 1,
    appliesOncePerCustomer: true,
    context: { all: 'ALL' },
    ...(minimum && { minimumRequirement: requirementOf(minimum) }),
    ...(type === 'free_shipping'
      ? { destination: { all: true } }
      : { customerGets: { items: { all: true }, value: offered(type, value ?? '0') } }),
  }
}

const requirementOf = ({ type, value }: NonNullable<NewCode['minimum']>) =>
  type === 'amount'
    ? { subtotal: { greaterThanOrEqualToSubtotal: value } }
    : { quantity: { greaterThanOrEqualToQuantity: String(Math.ceil(Number(value))) } }

/** A share of 1, or an amount off the whole order. */
const offered = (type: NewCode['type'], value: string) =>
  type === 'percentage'
    ? { percentage: Number(value) / 100 }
    : { discountAmount: { amount: value, appliesOnEachItem: false } }
