import type { Test } from 'tap'
import type { Outcome } from './journal.ts'

/** A state of a thing that changes, such as an order. Later ones have greater numbers. */
export interface Revision {
  of: string
  number: number
}

/** What clients were told of the revisions that they sent, by brand and thing. */
export class Revisions {
  readonly #brands = new Map<string, Map<string, Map<number, Outcome>>>()
  /** Whether the greatest number wins, in whatever order they come; else the one that was stored last. */
  readonly #isNewestWinner: boolean

  constructor({ newestWins }: { newestWins: boolean }) {
    this.#isNewestWinner = newestWins
  }

  /** The number of the next revision of a thing. */
  next(brandId: string, of: string): number {
    return Math.max(0, ...(this.#of(brandId).get(of)?.keys() ?? [])) + 1
  }

  sent(brandId: string, { of, number }: Revision): void {
    const things = this.#of(brandId)
    const numbers = things.get(of) ?? new Map<number, Outcome>()
    if (!numbers.has(number)) numbers.set(number, 'unknown')
    things.set(of, numbers)
  }

  acknowledged(brandId: string, { of, number }: Revision): void {
    this.#of(brandId).get(of)?.set(number, 'acknowledged')
  }

  get count(): number {
    return [...this.#brands.values()].flatMap((things) => [...things.values()]).flatMap((one) => [...one])
      .length
  }

  /** Things of which a revision was acknowledged. */
  known(brandId: string): string[] {
    return [...this.#of(brandId)].flatMap(([of, numbers]) => (newest(numbers) > 0 ? of : []))
  }

  /** Holds the revision that is stored of each thing of a brand against what its clients were told. */
  compare(t: Test, brandId: string, stored: ReadonlyMap<string, number>): void {
    const things = this.#of(brandId)
    t.same(
      this.known(brandId).filter((of) => !stored.has(of)),
      [],
      'acknowledged: there',
    )
    const wrong = (isWrong: (numbers: ReadonlyMap<number, Outcome>, number: number) => boolean) =>
      [...stored].filter(([of, number]) => isWrong(things.get(of) ?? new Map(), number)).slice(0, 20)
    t.same(
      wrong((numbers, number) => !numbers.has(number)),
      [],
      'none invented',
    )
    const isStale = (numbers: ReadonlyMap<number, Outcome>, number: number) =>
      number < newest(numbers) && (this.#isNewestWinner || numbers.get(number) === 'acknowledged')
    t.same(wrong(isStale), [], 'none older than an acknowledged one')
  }

  #of(brandId: string): Map<string, Map<number, Outcome>> {
    const things = this.#brands.get(brandId) ?? new Map<string, Map<number, Outcome>>()
    this.#brands.set(brandId, things)
    return things
  }
}

/** Of those that were acknowledged; 0 for none. */
const newest = (numbers: ReadonlyMap<number, Outcome>) =>
  Math.max(0, ...[...numbers].flatMap(([number, outcome]) => (outcome === 'acknowledged' ? number : [])))
