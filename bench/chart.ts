// Line charts as SVG.
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, PANEL] = [720, 520, 70, 20, 46, 180]
const GAP = 60
export const COLOURS = { blue: '#1f6feb', grey: '#8b949e', green: '#2da44e', red: '#cf222e' }

/** From left to right over the whole width. */
export const ACROSS = [LEFT, WIDTH - RIGHT] as const
/** From bottom to top of each of the two panels. */
export const UPPER = [TOP + PANEL, TOP] as const
export const LOWER = [UPPER[0] + GAP + PANEL, UPPER[0] + GAP] as const

export interface Scale {
  (value: number): number
  ticks: number[]
}

/** A round number at or above. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 2.5, 3, 5, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power
}

export function linear(most: number, [from, to]: readonly [number, number]): Scale {
  const top = roundUp(most)
  const scale = (value: number) => from + ((to - from) * value) / top
  return Object.assign(scale, { ticks: [0, 0.25, 0.5, 0.75, 1].map((share) => share * top) })
}

export function logarithmic(least: number, most: number, [from, to]: readonly [number, number]): Scale {
  const [low, high] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))]
  const scale = (value: number) => from + ((to - from) * (Math.log10(value) - low)) / Math.max(1, high - low)
  const ticks = Array.from({ length: Math.max(1, high - low) + 1 }, (_, n) => 10 ** (low + n))
  return Object.assign(scale, { ticks })
}

const number = (value: number) =>
  value >= 1_000 ? `${Number((value / 1_000).toFixed(1))}k` : `${Number(value.toFixed(2))}`
const text = (x: number, y: number, content: string, more = '') =>
  `<text x="${x}" y="${y}" ${more}>${content}</text>`

interface Line {
  colour: string
  name: string
  dashed?: boolean
  points: (readonly [number, number])[]
}

/** Axes with their grid, a title, a legend of [colour, name] and lines of points. */
export function panel(
  [bottom, top]: readonly [number, number],
  x: Scale,
  y: Scale,
  title: string,
  lines: readonly Line[],
): string {
  const grid = [
    ...y.ticks.map(
      (tick) =>
        `<path class="grid" d="M${LEFT} ${y(tick).toFixed(1)}H${WIDTH - RIGHT}"/>` +
        text(LEFT - 8, Math.round(y(tick)) + 4, number(tick), 'text-anchor="end"'),
    ),
    ...x.ticks.map((tick) => text(Math.round(x(tick)), bottom + 18, number(tick), 'text-anchor="middle"')),
  ]
  const drawn = lines.map(({ colour, dashed, points }) => {
    const path = points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join('L')
    const dots = dashed
      ? ''
      : points
          .map(([a, b]) => `<circle cx="${x(a).toFixed(1)}" cy="${y(b).toFixed(1)}" r="3" fill="${colour}"/>`)
          .join('')
    return `<path class="line" stroke="${colour}"${dashed ? ' stroke-dasharray="4 4"' : ''} d="M${path}"/>${dots}`
  })
  const legend = lines.map(({ colour, name }, n) =>
    text(
      WIDTH - RIGHT - 70 * (lines.length - n - 1),
      top - 10,
      name,
      `style="fill: ${colour}" text-anchor="end"`,
    ),
  )
  return [text(LEFT, top - 10, title, 'class="title"'), ...legend, ...grid, ...drawn].join('\n')
}

/** Two panels as SVG; readable on light and dark pages. `under`: what each one is over. */
export const chart = (
  label: string,
  upper: string,
  lower: string,
  under: { upper?: string; lower: string },
) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
<style>
svg { background: #fff }
text { font: 12px system-ui, sans-serif; fill: #57606a }

.title { font-weight: 600; fill: #24292f }
.grid { stroke: #d0d7de; stroke-width: 1 }
.line { fill: none; stroke-width: 2 }
</style>
${upper}${under.upper ? `\n${text(WIDTH - RIGHT, UPPER[0] + 34, under.upper, 'text-anchor="end"')}` : ''}
${lower}
${text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, under.lower, 'text-anchor="middle"')}
</svg>
`
