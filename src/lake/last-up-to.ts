/** Place of the last of ascending numbers that is not greater; -1 when there is none. */
export function lastUpTo(ascending: ArrayLike<number>, value: number): number {
  let [low, high] = [0, ascending.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ascending[middle] as number) <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}
