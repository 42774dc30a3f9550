import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// One after the other: two at once would measure each other. A file that exports nothing to run is a part of others.
const folder = dirname(fileURLToPath(import.meta.url))
const PARTS = new Set([
  'all.ts',
  'bodies.ts',
  'chart.ts',
  'collect-host.ts',
  'edited-rule.ts',
  'generator.ts',
  'ingest-server.ts',
  'lake-slice.ts',
  'loads.ts',
  'open-loop.ts',
  'options.ts',
  'plot.ts',
  'postgres-cpu.ts',
  'read-server.ts',
  'report.ts',
  'rows.ts',
  'segment-lake.ts',
  'segment-mix.ts',
  'stage.ts',
  'used-log.ts',
  'wrk.ts',
])
/** LONG=1: the memory of ten minutes, a thousand brands, and a million customers, whose lake takes half an hour at first. */
const LONG = new Set(['cost.ts', 'customers.ts', 'models.ts', 'round.ts', 'segments.ts'])
const ARGUMENTS: Record<string, string[]> = process.env.LONG
  ? { 'customers.ts': ['--as', 'full'], 'lag.ts': ['--minutes', '10'] }
  : {}
const benchmarks = readdirSync(folder)
  .filter((name) => name.endsWith('.ts') && !PARTS.has(name) && (process.env.LONG || !LONG.has(name)))
  .sort()

for (const [index, name] of benchmarks.entries()) {
  process.stdout.write(`\n[${index + 1}/${benchmarks.length}] bench/${name}\n`)
  const { status } = spawnSync(process.execPath, [join(folder, name), ...(ARGUMENTS[name] ?? [])], {
    stdio: 'inherit',
    env: { LOG_LEVEL: 'error', ...process.env },
  })
  if (status !== 0) process.exitCode = 1
}
spawnSync(process.execPath, [join(folder, 'plot.ts')], { stdio: 'inherit' })
