import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fail } from '../src/errors.ts'
import { type Asked, type LakesOptions, openLakes } from '../src/lake/reader.ts'
import type { Session } from '../src/lake/session.ts'
import type { Brand, Pin } from '../src/op.ts'
import { openDuck } from '../src/store/duckdb.ts'

const tempDir = mkdtempSync(join(tmpdir(), 'recoup-computed-'))
t.teardown(() => rmSync(tempDir, { recursive: true, force: true }))

const brandOf = (id: string) => ({ id }) as Brand
const [one, another, third] = ['one', 'another', 'third'].map(brandOf) as [Brand, Brand, Brand]
const instant = (n: number) => new Date(Date.UTC(2026, 0, n))
/** Of 10^12 rows. */
const ENDLESS = 'select sum(a.range * b.range) from range(1000000) as a, range(1000000) as b'
const unavailable = { code: 'unavailable' }

/** A request has ended before the next one comes. */
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

interface Opened {
  name: string
  closed: Promise<void>
}

/** Lakes whose sessions have a real instance and nothing in it, and which of them were opened. */
function lakesOf(t: Test, { tick = () => 1, ...options }: LakesOptions & { tick?: () => number } = {}) {
  const opened: Opened[] = []
  const open = async (brand: Brand, asked: Asked): Promise<Session> => {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    opened.push({ name: `${brand.id} ${asked.past?.getUTCDate() ?? 'now'}`, closed })
    const duck = await openDuck({ memoryMb: 64, threads: 1, tempDir, signal: asked.signal })
    const close = async () => {
      duck.close()
      resolve()
    }
    const manifest = { generation: 1, tick: tick(), erasures: 0, at: new Date() }
    return { duck, manifest, asOf: asked.past ?? new Date(), close } as unknown as Session
  }
  const nothing = { reader: async () => null, sweep: async () => {}, close: async () => {} }
  const lakes = openLakes(nothing, open, options)
  // Nothing else keeps the process while it waits for a session to be closed.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => lakes.close().finally(() => clearInterval(alive)))
  return { lakes, opened, names: () => opened.map(({ name }) => name) }
}

/** A call of a client that may go. */
function client() {
  const controller = new AbortController()
  const GONE = fail('unavailable', 'gone')
  return { call: { signal: controller.signal }, go: () => controller.abort(GONE) }
}

/** Reads that have a slot each until they are let go, or wait for one. */
function reads(t: Test, { lakes }: ReturnType<typeof lakesOf>) {
  const begun: Promise<unknown>[] = []
  t.teardown(() => Promise.allSettled(begun))
  return (brand: Brand, past?: Date) => {
    const { call, go } = client()
    const began = lakes.forBrand(brand, call).sources(past)
    const ended = began.then((sources) => sources.rows(ENDLESS))
    begun.push(ended)
    t.teardown(go)
    return { began, go, ended: ended.catch((error: unknown) => error) }
  }
}

t.test('reads of the past of a brand hold up neither other brands nor its reads as of now', async (t) => {
  const made = lakesOf(t)
  const read = reads(t, made)
  const many = Array.from({ length: 12 }, (_, n) => read(one, instant(n + 1)))
  await many[0]?.began
  for (const sources of [
    made.lakes.forBrand(one).sources(),
    made.lakes.forBrand(another).sources(instant(1)),
    made.lakes.forBrand(another).sources(),
  ])
    t.same(await (await sources).rows('select 1 as one'), [{ one: 1 }])
})

t.test('reads of the past of two brands leave a session to reads as of now', async (t) => {
  const made = lakesOf(t)
  const read = reads(t, made)
  await Promise.all([read(one, instant(1)).began, read(another, instant(1)).began])
  read(third, instant(1))
  await made.lakes.forBrand(third).sources()
  t.same(made.names(), ['one 1', 'another 1', 'third now'])
})

t.test('brands take turns', async (t) => {
  const made = lakesOf(t)
  const read = reads(t, made)
  const first = read(one, instant(1))
  const second = read(another, instant(1))
  await Promise.all([first.began, second.began])
  const [again, last] = [read(one, instant(2)), read(one, instant(3))]
  const other = read(third, instant(1))
  first.go()
  await again.began
  again.go()
  await other.began
  second.go()
  await last.began
  t.same(made.names(), ['one 1', 'another 1', 'one 2', 'third 1', 'one 3'])
})

t.test('a line that is too long is refused, with the time to wait', async (t) => {
  const made = lakesOf(t)
  const read = reads(t, made)
  const many = Array.from({ length: 28 }, (_, n) => read(one, instant(n + 1)).began)
  await many[0]
  const refused = (await Promise.allSettled(many.slice(17))).filter(({ status }) => status === 'rejected')
  t.equal(refused.length, 11)
  t.match(refused[0], { reason: { ...unavailable, headers: { 'retry-after': '5' } } })
})

t.test('who goes while waiting leaves the line', async (t) => {
  const made = lakesOf(t)
  const read = reads(t, made)
  const first = read(one, instant(1))
  await first.began
  const [gone, next] = [read(one, instant(2)), read(one, instant(3))]
  gone.go()
  t.match(await gone.ended, unavailable)
  first.go()
  await next.began
  t.same(made.names(), ['one 1', 'one 3'])
})

t.test('who goes interrupts what is computed, and nobody else’s', async (t) => {
  const made = lakesOf(t)
  const read = reads(t, made)
  const computing = read(one)
  await computing.began
  const after = await made.lakes.forBrand(one).sources()
  const answer = after.rows('select 1 as one')
  computing.go()
  t.match(await computing.ended, unavailable)
  t.same(await answer, [{ one: 1 }])
  t.same(made.names(), ['one now'])
})

t.test('what takes more memory than there is says what to do, and the next read is answered', async (t) => {
  const { lakes } = lakesOf(t)
  const sources = await lakes.forBrand(one).sources()
  const tooMuch = sources.rows('select len(list(range)) as length from range(30000000)')
  await t.rejects(tooMuch, { ...unavailable, message: /^It takes more memory than one request may have/ })
  t.same(await sources.rows('select 1 as one'), [{ one: 1 }])
})

t.test('a session that is still being opened ends with the last who wants it', async (t) => {
  const began = Promise.withResolvers<Asked>()
  const nothing = { reader: async () => null, sweep: async () => {}, close: async () => {} }
  const lakes = openLakes(nothing, async (_, asked) => {
    began.resolve(asked)
    const duck = await openDuck({ memoryMb: 64, threads: 1, tempDir, signal: asked.signal })
    await duck.run(ENDLESS).finally(duck.close)
    throw new Error('it never ends')
  })
  t.teardown(() => lakes.close())
  const { call, go } = client()
  const read = lakes.forBrand(one, call).sources(instant(1))
  const { signal } = await began.promise
  go()
  await t.rejects(read, unavailable)
  if (!signal.aborted) await once(signal, 'abort')
})

t.test('what takes too long is given up', async (t) => {
  const { lakes } = lakesOf(t, { mostMs: 1_000 })
  const sources = await lakes.forBrand(one, client().call).sources(instant(1))
  await t.rejects(sources.rows(ENDLESS), unavailable)
  await t.rejects(sources.rows('select 1'), unavailable)
})

t.test('nothing waits for a call to take too long that has ended', async (t) => {
  const waiting = new Set<unknown>()
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const noted = (work: () => void, ms: number) => {
    const timer = set(work, ms)
    if (ms > 500_000) waiting.add(timer)
    return timer
  }
  t.intercept(globalThis, 'setTimeout', { value: noted })
  t.intercept(globalThis, 'clearTimeout', {
    value: (timer: never) => {
      waiting.delete(timer)
      clear(timer)
    },
  })
  const { lakes } = lakesOf(t, { mostMs: 600_000 })
  const sources = await lakes.forBrand(one, client().call).sources(instant(1))
  const answer = sources.rows('select 1 as one')
  t.equal(waiting.size, 1)
  await answer
  t.equal(waiting.size, 0)
})

t.test('calls that ask for the same instant share a session', async (t) => {
  const made = lakesOf(t)
  const read = reads(t, made)
  await Promise.all([read(one, instant(1)).began, read(one, instant(1)).began])
  t.same(made.names(), ['one 1'])
})

t.test('pages of a walk share the session of the first one', async (t) => {
  for (const past of [instant(1), undefined]) {
    const { lakes, names } = lakesOf(t)
    const first = await lakes.forBrand(one).sources(past)
    for (let page = 0; page < 3; page++) {
      const next = await lakes.forBrand(one).pinned(first.pin as Pin)
      t.same(await next.rows('select 1 as one'), [{ one: 1 }])
      t.same(next.pin, first.pin)
      await turn()
    }
    t.equal(names().length, 1)
    t.match((await lakes.forBrand(one).pinned({ ...(first.pin as Pin), tick: 2 })).pin, { tick: 1 })
    t.equal(names().length, 2, 'and those of another have their own')
  }
})

t.test('a session that waits for the next page of a walk gives way', async (t) => {
  const { lakes, opened, names } = lakesOf(t)
  const sources = async (brand: Brand, past?: Date) => {
    const read = await lakes.forBrand(brand).sources(past)
    await read.rows('select 1')
    await turn()
  }
  await sources(one, instant(1))
  await sources(one, instant(2))
  await opened[0]?.closed
  await sources(another, instant(1))
  await sources(third, instant(1))
  await Promise.all([opened[1]?.closed, opened[2]?.closed])
  await sources(one)
  await sources(another)
  await sources(third)
  t.same(names(), ['one 1', 'one 2', 'another 1', 'third 1', 'one now', 'another now', 'third now'])
})

t.test('a session that waits for the next page of a walk is closed with the lakes', async (t) => {
  const { lakes, opened } = lakesOf(t)
  await lakes.forBrand(one).sources(instant(1))
  await turn()
  await lakes.close()
  await opened[0]?.closed
})

t.test('a session of the past is closed, when it shows the newest no more', async (t) => {
  const { lakes, opened } = lakesOf(t, { freshMs: 1 })
  await lakes.forBrand(one).sources(instant(1))
  await opened[0]?.closed
})

t.test('a session that shows the newest no more is closed, also when nobody comes', async (t) => {
  const { lakes, opened } = lakesOf(t, { freshMs: 1 })
  await lakes.forBrand(one).sources()
  await opened[0]?.closed
})

t.test('a kept session is read until something is asked for that came later', async (t) => {
  let tick = 1
  const { lakes, names } = lakesOf(t, { tick: () => tick })
  const sources = (least: number) => lakes.forBrand(one).sources(undefined, undefined, least)
  await sources(0)
  tick = 2
  await sources(1)
  t.same(names(), ['one now'])
  await sources(2)
  t.same(names(), ['one now', 'one now'])
})
