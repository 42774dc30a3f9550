/** Shorter words end too many names. */
const WORD_FROM = 4

/** The known name that differs least from a mistyped one, or else ends in it; undefined when none is near. */
function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  // Of a name of one letter nothing would be left.
  let least = Math.min(Math.floor(name.length / 3) + 1, name.length - 1)
  const names = [...known]
  for (const candidate of names) {
    const distance = edits(name.toLowerCase(), candidate.toLowerCase())
    if (distance > least || (distance === least && best !== undefined)) continue
    best = candidate
    least = distance
  }
  return best ?? (name.length < WORD_FROM ? undefined : endingIn(name, names))
}

/** Of a name such as `commerce_orders` or `properties.ordersCount` the last part was given. */
function endingIn(name: string, known: readonly string[]): string | undefined {
  const ends = [`.${name.toLowerCase()}`, `_${name.toLowerCase()}`]
  for (const candidate of known)
    if (ends.some((end) => candidate.toLowerCase().endsWith(end))) return candidate
  return undefined
}

/** ` Did you mean "…"?` or nothing, to follow a message about an unknown name. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const candidate = nearest(name, known)
  return candidate === undefined ? '' : ` Did you mean "${candidate}"?`
}

/** Insertions, deletions and replacements that turn one word into another. */
function edits(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    above = current
  }
  return above[b.length] ?? 0
}
