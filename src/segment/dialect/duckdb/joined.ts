import { type Condition, conditionsOf, type Tree } from '../../tree.ts'

/**
 * Conditions that are each a join of their own: so many as a person reads. Each holds its memory, 10 MB and more, until the
 * last is done; those of one join are found one after the other, as quickly for 17 and in half of the time for 100.
 */
const JOINS_MOST = 16

const isJoined = ({ test }: Condition) => test.of === 'rows' || test.of === 'segment'

/** Whether so many conditions ask of other rows than the customer's own that they are to be one join. */
export const areMany = (tree: Tree): boolean => conditionsOf(tree).filter(isJoined).length > JOINS_MOST

/** Many SELECTs of customers as one join: each customer once, with a bit for each SELECT that has them. */
export class Joined {
  readonly #places = new Map<string, number>()
  readonly #selects: string[] = []

  /** Whether a customer is among those of a SELECT; equal keys say that it is the same. */
  holds(key: string, select: () => string): string {
    let place = this.#places.get(key)
    if (place === undefined) {
      place = this.#selects.length
      this.#places.set(key, place)
      this.#selects.push(select())
    }
    return `(coalesce(joined.held, 0) & ${bit(place)}) != 0`
  }

  /** The join, on the customer of the surrounding SELECT. */
  join(customer: string): string {
    const selects = this.#selects.map(
      (select, place) => `select customer, ${bit(place)} as held from (\n${select}\n)`,
    )
    return [
      'left join (',
      '  select customer, bit_or(held) as held',
      `  from (\n${selects.join('\nunion all\n')}\n  )`,
      '  group by customer',
      `) as joined on joined.customer = ${customer}`,
    ].join('\n')
  }
}

/** There may be 100 conditions, and this type has 127 bits. */
const bit = (place: number) => `(1::hugeint << ${place})`
