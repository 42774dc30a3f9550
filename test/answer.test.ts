import t from 'tap'
import { readUpTo, retryAfterMs } from '../src/answer.ts'

const saying = (retryAfter: string) =>
  retryAfterMs(new Response(null, { headers: { 'retry-after': retryAfter } }))

t.test('Retry-After is seconds', async (t) => {
  t.equal(saying('90'), 90_000)
  t.equal(saying('2.0'), 2_000)
})

t.test('Retry-After is a date', async (t) => {
  const ms = saying(new Date(Date.now() + 600_000).toUTCString())
  t.ok(ms !== null && ms > 500_000 && ms <= 600_000, `${ms}`)
})

t.test('a service is waited for an hour at most', async (t) => {
  for (const long of ['Infinity', '1e12', 'Fri, 31 Dec 9999 23:59:59 GMT'])
    t.equal(saying(long), 3_600_000, long)
})

t.test('what is no time to come says nothing', async (t) => {
  for (const none of ['', '-1', 'soon', 'Sun, 06 Nov 1994 08:49:37 GMT']) t.equal(saying(none), null, none)
  t.equal(retryAfterMs(new Response()), null)
})

t.test('a body is read up to its bound', async (t) => {
  const read = (mostBytes: number) => readUpTo(new Response('abc'), mostBytes)
  t.same(await read(3), { bytes: Buffer.from('abc'), isCut: false })
  t.same(await read(2), { bytes: Buffer.from('ab'), isCut: true })
  t.same(await readUpTo(new Response(null), 2), { bytes: Buffer.alloc(0), isCut: false })
})
