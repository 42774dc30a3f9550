import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bodies, ID } from './bodies.ts'
import type { LoadOrder, LoadResult } from './generator.ts'

export const hasWrk = () => spawnSync('wrk', ['--version']).error === undefined

/**
 * A load by wrk 4 with a body of its own for each request: ids that no other request has. With a rate, in requests a
 * second, they leave at the moments of a fixed schedule; there have to be enough connections that one is always free.
 * wrk adds to the latencies what a connection would have sent while it waited longer than its turn takes.
 */
export async function wrk(order: LoadOrder, rate?: number): Promise<LoadResult> {
  const folder = mkdtempSync(join(tmpdir(), 'recoup-wrk-'))
  try {
    const script = join(folder, 'load.lua')
    writeFileSync(script, luaOf(order) + (rate ? scheduleOf(rate) : ''))
    const child = spawn(
      'wrk',
      ['-t1', `-c${order.connections}`, `-d${order.seconds}s`, '--timeout', '10s', '-s', script, order.url],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const [code] = await once(child, 'close')
    const at = said.indexOf('{"requests"')
    if (code !== 0 || at < 0) throw new Error(`wrk failed: ${said}`)
    return JSON.parse(said.slice(at))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Text in Lua's long brackets, which know no escapes. */
const quoted = (text: string) => `[==[${text}]==]`

const luaOf = (order: LoadOrder) => `
local bodies = {
${bodies(order)
  .map((body) => `  { ${body.split(ID).map(quoted).join(', ')} },`)
  .join('\n')}
}
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
${Object.entries(order.headers)
  .map(([name, value]) => `wrk.headers[ ${quoted(name)} ] = ${quoted(value)}`)
  .join('\n')}
local sent = ${Date.now()} * 1000 + ${Math.floor(Math.random() * 1000)}
local turn = 0
function request()
  turn = turn % #bodies + 1
  local parts = bodies[turn]
  local text = { parts[1] }
  for n = 2, #parts do
    sent = sent + 1
    text[#text + 1] = string.format("id-%016.0f", sent)
    text[#text + 1] = parts[n]
  end
  return wrk.format(nil, nil, nil, table.concat(text))
end
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.stderr:write(string.format(
    '{"requests":%d,"seconds":%.3f,"p50":%.2f,"p99":%.2f,"failed":%d,"cpu":0}',
    summary.requests - errors.status, summary.duration / 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, failed))
end
`

/** All connections are there by then: what is due while they are made would leave at once when they are. */
const CONNECT_MS = 500

/** delay() is asked before each request: the next moment of the schedule, in whole milliseconds from now. */
const scheduleOf = (rate: number) => `
local ffi = require("ffi")
ffi.cdef[[
  typedef struct { long seconds; long nanoseconds; } moment;
  int clock_gettime(int clock, moment *found);
]]
local found = ffi.new("moment")
local function now()
  ffi.C.clock_gettime(1, found)
  return tonumber(found.seconds) * 1e3 + tonumber(found.nanoseconds) / 1e6
end
local due = now() + ${CONNECT_MS}
function delay()
  due = due + ${1_000 / rate}
  return math.max(0, math.floor(due - now() + 0.5))
end
`
