import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from '../src/config.ts'
import { ACROSS, COLOURS, chart, LOWER, linear, logarithmic, panel, UPPER } from './chart.ts'
import type { Cost } from './cost.ts'
import { RESULTS } from './report.ts'

// Plots in docs/ of what is in bench/results/: ingest.svg of curve.json, cost.svg of cost.json.
interface Point {
  offered_events_per_second: number
  stored_events_per_second: number
  p50_ms: number
  p99_ms: number
}

/** What is stored, and how late, over what is offered. */
export function ingestPlot(points: readonly Point[]): string {
  const offered = points.map((point) => point.offered_events_per_second)
  const most = Math.max(...offered)
  const x = linear(most, ACROSS)
  const latencies = points.flatMap(({ p50_ms, p99_ms }) => [p50_ms, p99_ms]).filter((value) => value > 0)
  const over = (pick: (point: Point) => number) =>
    points.map((point) => [point.offered_events_per_second, pick(point)] as const)
  const stored = panel(UPPER, x, linear(most, UPPER), 'Stored, events/s', [
    {
      colour: COLOURS.grey,
      name: 'offered',
      dashed: true,
      points: over((p) => p.offered_events_per_second),
    },
    { colour: COLOURS.blue, name: 'stored', points: over((p) => p.stored_events_per_second) },
  ])
  const scale = logarithmic(Math.min(...latencies), Math.max(...latencies), LOWER)
  const latency = panel(LOWER, x, scale, 'Answered after, ms', [
    { colour: COLOURS.green, name: 'p50', points: over((p) => p.p50_ms).filter(([, ms]) => ms > 0) },
    { colour: COLOURS.red, name: 'p99', points: over((p) => p.p99_ms).filter(([, ms]) => ms > 0) },
  ])
  return chart('Throughput and latency over offered load', stored, latency, { lower: 'offered, events/s' })
}

/** Seconds of a full refresh and of a step over the events, and over the segments. */
export function costPlot(costs: readonly Cost[]): string {
  const over = (place: typeof UPPER | typeof LOWER, axis: Cost['axis'], title: string) => {
    const points = costs.filter((cost) => cost.axis === axis)
    const at = (cost: Cost) => (axis === 'events' ? cost.events / 1e6 : cost.segments)
    const x = linear(Math.max(...points.map(at)), ACROSS)
    const y = linear(Math.max(...points.map(({ full_s }) => full_s)), place)
    return panel(place, x, y, title, [
      { colour: COLOURS.red, name: 'full', points: points.map((cost) => [at(cost), cost.full_s]) },
      { colour: COLOURS.blue, name: 'step', points: points.map((cost) => [at(cost), cost.step_s]) },
    ])
  }
  const most = Math.max(...costs.map(({ events }) => events)) / 1e6
  const segments = costs.find(({ axis }) => axis === 'events')?.segments
  return chart(
    'Seconds of a refresh over events and over segments',
    over(UPPER, 'events', `Seconds of a refresh of ${segments} segments`),
    over(LOWER, 'segments', `Seconds of a refresh over ${most} million events`),
    { upper: 'million events', lower: 'segments' },
  )
}

if (import.meta.main) {
  const results = process.argv[2] ?? RESULTS
  const write = <Row>(name: string, plot: string, draw: (rows: Row[]) => string) => {
    const from = join(results, name)
    if (!existsSync(from)) return
    const target = join(CHECKOUT, 'docs', plot)
    writeFileSync(target, draw((JSON.parse(readFileSync(from, 'utf8')) as { results: Row[] }).results))
    process.stdout.write(`Wrote ${target}\n`)
  }
  write('curve.json', 'ingest.svg', ingestPlot)
  write('cost.json', 'cost.svg', costPlot)
}
