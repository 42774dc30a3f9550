/**
 * Whether a row's segment is one of these, as a condition in SQL: by ranges, since every row is compared with each item
 * of a list.
 */
export function amongSegments(segments: readonly { ordinal: number }[], segment = 'segment'): string {
  const ranges: [from: number, to: number][] = []
  for (const ordinal of segments.map((each) => Math.trunc(each.ordinal)).sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last && ordinal <= last[1] + 1) last[1] = ordinal
    else ranges.push([ordinal, ordinal])
  }
  return `(${ranges.map(([from, to]) => `${segment} between ${from} and ${to}`).join(' or ') || 'false'})`
}
