import { isVisitor, type Profile, survivorOf } from './profile.ts'

/** Two customers whom a person took apart, or a visitor and the customer that it was taken from; by subject. */
export interface Bar {
  from: number
  to: number
}

/** Who must not be joined again. */
export class Bars {
  readonly #bars: readonly Bar[]
  readonly #known: ReadonlyMap<number, Profile>

  /** `known`: the profiles that the bars name, among others. */
  constructor(bars: readonly Bar[], known: ReadonlyMap<number, Profile>) {
    this.#bars = bars
    this.#known = known
  }

  /** Between two survivors, or a visitor and a survivor. */
  stand(one: Profile, other: Profile): boolean {
    return this.#bars.some(
      ({ from, to }) =>
        (this.#is(from, one) && this.#is(to, other)) || (this.#is(from, other) && this.#is(to, one)),
    )
  }

  /** A visitor that went elsewhere takes its bars along: they are none between customers. */
  #is(subject: number, profile: Profile): boolean {
    const named = this.#known.get(subject)
    if (!named) return false
    return isVisitor(named) ? named === profile : survivorOf(named) === profile
  }
}
