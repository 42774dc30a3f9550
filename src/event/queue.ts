/** Bytes that a brand may take in its turn: a share of what is taken, so that many brands have theirs in each batch. */
const QUANTUM = 64 * 1024
const TURNS = 16

export interface Queued {
  brandId: string
  bytes: number
  /** performance.now() of its arrival. */
  since: number
}

interface BrandQueue<Item> {
  items: Item[]
  /** Items before this index have left. */
  head: number
  deficit: number
}

/** Items in one queue per brand, taken by deficit round robin: a brand that sends a lot delays itself, not the others. */
export class FairQueue<Item extends Queued> {
  // In the order of turns: the first entry is next.
  readonly #brands = new Map<string, BrandQueue<Item>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  push(item: Item): void {
    const queue = this.#brands.get(item.brandId)
    if (queue) queue.items.push(item)
    else this.#brands.set(item.brandId, { items: [item], head: 0, deficit: 0 })
    this.#size++
  }

  /** The brand's item that waits longest. */
  oldest(brandId: string): Item | undefined {
    const queue = this.#brands.get(brandId)
    return queue?.items[queue.head]
  }

  /** Items of together at most `most` bytes, at least one when there is any. */
  take(most: number): Item[] {
    const taken: Item[] = []
    const quantum = Math.min(QUANTUM, Math.ceil(most / TURNS))
    let bytes = 0
    while (this.#size > 0) {
      const [brandId, queue] = this.#brands.entries().next().value as [string, BrandQueue<Item>]
      queue.deficit += quantum
      for (;;) {
        const item = queue.items[queue.head]
        if (!item || item.bytes > queue.deficit) break
        if (taken.length > 0 && bytes + item.bytes > most) {
          queue.deficit -= quantum
          return taken
        }
        this.#shift(queue)
        queue.deficit -= item.bytes
        bytes += item.bytes
        taken.push(item)
      }
      // To the end of the order, or out of it with nothing saved up.
      this.#brands.delete(brandId)
      if (queue.head < queue.items.length) this.#brands.set(brandId, queue)
    }
    return taken
  }

  /** Takes out what arrived before a time. */
  takeOlder(since: number): Item[] {
    const taken: Item[] = []
    for (const [brandId, queue] of this.#brands) {
      for (let item = queue.items[queue.head]; item && item.since < since; item = queue.items[queue.head]) {
        taken.push(item)
        this.#shift(queue)
      }
      if (queue.head === queue.items.length) this.#brands.delete(brandId)
    }
    return taken
  }

  #shift(queue: BrandQueue<Item>): void {
    queue.head++
    this.#size--
    // Now and then, since moving the rest at each shift would be quadratic.
    if (queue.head === 1024) {
      queue.items.splice(0, 1024)
      queue.head = 0
    }
  }
}
