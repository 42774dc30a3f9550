import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from '../src/config.ts'
import { RESULTS } from './report.ts'

// docs/ingest.svg of bench/results/curve.json: what is stored, and how late, over what is offered.
interface Point {
  offered_events_per_second: number
  stored_events_per_second: number
  p50_ms: number
  p99_ms: number
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, PANEL] = [720, 520, 70, 20, 46, 180]
const GAP = 60
const COLOURS = { stored: '#1f6feb', ideal: '#8b949e', p50: '#2da44e', p99: '#cf222e' }

interface Scale {
  (value: number): number
  ticks: number[]
}

/** A round number at or above. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power
}

function linear(most: number, from: number, to: number): Scale {
  const top = roundUp(most)
  const scale = (value: number) => from + ((to - from) * value) / top
  return Object.assign(scale, { ticks: [0, 0.25, 0.5, 0.75, 1].map((share) => share * top) })
}

function logarithmic(least: number, most: number, from: number, to: number): Scale {
  const [low, high] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))]
  const scale = (value: number) => from + ((to - from) * (Math.log10(value) - low)) / Math.max(1, high - low)
  const ticks = Array.from({ length: Math.max(1, high - low) + 1 }, (_, n) => 10 ** (low + n))
  return Object.assign(scale, { ticks })
}

const number = (value: number) =>
  value >= 1_000 ? `${Number((value / 1_000).toFixed(1))}k` : `${Number(value.toFixed(2))}`
const text = (x: number, y: number, content: string, more = '') =>
  `<text x="${x}" y="${y}" ${more}>${content}</text>`

/** Axes with their grid, a title, a legend of [colour, name] and lines of points. */
function panel(
  top: number,
  x: Scale,
  y: Scale,
  title: string,
  lines: readonly { colour: string; name: string; dashed?: boolean; points: (readonly [number, number])[] }[],
): string {
  const bottom = top + PANEL
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

/** The plot as SVG; readable on light and dark pages. */
export function plot(points: readonly Point[]): string {
  const offered = points.map((point) => point.offered_events_per_second)
  const x = linear(Math.max(...offered), LEFT, WIDTH - RIGHT)
  const second = TOP + PANEL + GAP
  const latencies = points.flatMap(({ p50_ms, p99_ms }) => [p50_ms, p99_ms]).filter((value) => value > 0)
  const over = (pick: (point: Point) => number) =>
    points.map((point) => [point.offered_events_per_second, pick(point)] as const)
  const stored = panel(TOP, x, linear(Math.max(...offered), TOP + PANEL, TOP), 'Stored, events/s', [
    {
      colour: COLOURS.ideal,
      name: 'offered',
      dashed: true,
      points: over((p) => p.offered_events_per_second),
    },
    { colour: COLOURS.stored, name: 'stored', points: over((p) => p.stored_events_per_second) },
  ])
  const scale = logarithmic(Math.min(...latencies), Math.max(...latencies), second + PANEL, second)
  const latency = panel(second, x, scale, 'Answered after, ms', [
    { colour: COLOURS.p50, name: 'p50', points: over((p) => p.p50_ms).filter(([, ms]) => ms > 0) },
    { colour: COLOURS.p99, name: 'p99', points: over((p) => p.p99_ms).filter(([, ms]) => ms > 0) },
  ])
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Throughput and latency over offered load">
<style>
svg { background: #fff }
text { font: 12px system-ui, sans-serif; fill: #57606a }

.title { font-weight: 600; fill: #24292f }
.grid { stroke: #d0d7de; stroke-width: 1 }
.line { fill: none; stroke-width: 2 }
</style>
${stored}
${latency}
${text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, 'offered, events/s', 'text-anchor="middle"')}
</svg>
`
}

if (import.meta.main) {
  const [results = RESULTS, target = join(CHECKOUT, 'docs/ingest.svg')] = process.argv.slice(2)
  const { results: points } = JSON.parse(readFileSync(join(results, 'curve.json'), 'utf8')) as {
    results: Point[]
  }
  writeFileSync(target, plot(points))
  process.stdout.write(`Wrote ${target}\n`)
}
