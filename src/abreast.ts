/** Works on all of them, so many at the same time. Once one fails no other is begun; those that were are waited for. */
export async function abreast<Item>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  let hasFailed = false
  const some = async () => {
    for (const item of waiting) {
      if (hasFailed) return
      await work(item).catch((error: unknown) => {
        hasFailed = true
        throw error
      })
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: Math.min(most, items.length) }, some))
  for (const result of ended) if (result.status === 'rejected') throw result.reason
}
