import {
  addDiscount,
  DISCOUNT_TYPES,
  type Discount,
  discounts,
  MOST_DAYS,
  removeDiscount,
} from '../campaign/discount.ts'
import { filledWith } from '../connect/demo/filled.ts'
import type { Brand } from '../op.ts'
import { command, integerOption, type Run, required, text, UsageError } from './command.ts'
import { brand, ofBrand } from './of-brand.ts'
import { table } from './table.ts'

function typeOf(given: string): Discount['type'] {
  const type = DISCOUNT_TYPES.find((one) => one === given)
  if (!type) throw new UsageError(`--type must be one of ${DISCOUNT_TYPES.join(', ')}, not "${given}"`)
  return type
}

function minimumOf({ values }: Run): Pick<Discount, 'minimum_type' | 'minimum_value'> {
  const [amount, quantity] = [text(values, 'minimum-amount'), text(values, 'minimum-quantity')]
  if (amount !== undefined && quantity !== undefined)
    throw new UsageError('--minimum-amount and --minimum-quantity: give one of them')
  if (amount !== undefined) return { minimum_type: 'amount', minimum_value: amount }
  if (quantity !== undefined) return { minimum_type: 'quantity', minimum_value: quantity }
  return { minimum_type: null, minimum_value: null }
}

const worth = ({ type, value }: Discount) =>
  type === 'free_shipping' ? 'free shipping' : type === 'percentage' ? `${value} %` : `${value} off`

/** Whether there is a store that codes of contacts are made in, or a demo that takes any. */
async function makesCodes({ app, brand: { id }, db }: Awaited<ReturnType<typeof ofBrand>>): Promise<boolean> {
  const store = await db.maybe<{ access_token: Buffer | null }>('store_connection_of')
  return store ? store.access_token !== null : filledWith(app.config, id) !== null
}

const noStore = ({ name }: Brand) =>
  `No store is connected to ${name}: until one is (recoup store connect), campaigns that offer this discount send nothing. A code that your store has works without: --code.\n`

export const discountCommands = [
  command({
    name: 'discount add',
    what: 'Save a discount for campaigns: one code for everybody, or a code per contact that is made in the store',
    options: {
      brand,
      name: { type: 'string', required: true, placeholder: 'NAME', what: 'What it is called' },
      type: { type: 'string', required: true, placeholder: 'TYPE', what: DISCOUNT_TYPES.join(', ') },
      value: { type: 'string', placeholder: 'N', what: 'Percent, or an amount in the currency of the brand' },
      code: {
        type: 'string',
        placeholder: 'CODE',
        what: 'A code that the store has, for everybody (default: a code per contact)',
      },
      prefix: { type: 'string', placeholder: 'TEXT', what: 'What codes of contacts begin with' },
      'minimum-amount': { type: 'string', placeholder: 'N', what: 'Good for orders of at least this amount' },
      'minimum-quantity': {
        type: 'string',
        placeholder: 'N',
        what: 'Good for orders of at least so many items',
      },
      days: { type: 'string', placeholder: 'N', what: 'How long codes of contacts are good' },
    },
    run: async (run) => {
      const { values } = run
      const type = typeOf(required(values, 'type'))
      const given = {
        name: required(values, 'name'),
        type,
        value: type === 'free_shipping' ? (text(values, 'value') ?? null) : required(values, 'value'),
        code: text(values, 'code') ?? null,
        prefix: text(values, 'prefix') ?? null,
        ...minimumOf(run),
        duration_days: values.days === undefined ? null : integerOption(values, 'days', 0, 1, MOST_DAYS),
      }
      const of = await ofBrand(run)
      const discount = await addDiscount(of.db, given)
      if (discount.code === null && !(await makesCodes(of))) process.stderr.write(noStore(of.brand))
      return discount
    },
    text: (discount: Discount) => `Discount ${discount.name} (${worth(discount)}): ${discount.id}`,
  }),
  command({
    name: 'discount list',
    what: 'List the saved discounts of a brand',
    options: { brand },
    run: async (run) => ({ data: await discounts((await ofBrand(run)).db) }),
    text: ({ data }) =>
      table(
        ['name', 'discount', 'code', 'days', 'id'],
        data.map((one) => [
          one.name,
          worth(one),
          one.code ?? `${one.prefix ?? ''}… per contact`,
          one.duration_days === null ? null : String(one.duration_days),
          one.id,
        ]),
      ),
  }),
  command({
    name: 'discount remove',
    what: 'Remove a saved discount that no campaign offers; codes that were sent stay good',
    options: {
      brand,
      discount: { type: 'string', required: true, placeholder: 'DISCOUNT', what: 'Id or name' },
    },
    run: async (run) => {
      const { db } = await ofBrand(run)
      const wanted = required(run.values, 'discount')
      const found = await db.maybe<{ id: string }>('discount_named', [wanted])
      if (!found) throw new UsageError(`--discount: there is no discount "${wanted}" of this brand`)
      await removeDiscount(db, found.id)
      return found
    },
    text: ({ id }) => `Discount ${id} is removed`,
  }),
]
