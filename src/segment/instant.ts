/** The instant that a refresh evaluates: a chosen one, else that at which its first session has read what there is. */
export class Instant {
  #fixed: Date | undefined

  constructor(chosen?: Date) {
    this.#fixed = chosen
  }

  /** The present one until it is fixed. */
  get now(): Date {
    return this.#fixed ?? new Date()
  }

  fix(): Date {
    this.#fixed ??= new Date()
    return this.#fixed
  }
}
