import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { httpChannel } from '../src/campaign/channel-http.ts'
import { chat } from '../src/campaign/chat.ts'
import { openAdminApi } from '../src/connect/store/shopify/client.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const PARCEL = {
  id: '01930c7e-5b1a-7c3e-9f00-3a5a1c2b4d6e',
  key: 'run:3',
  channel: 'sms',
  to: '+12025550100',
  headline: null,
  body: 'Hi Ada',
  optOutUrl: null,
} as const

/** An answer that everybody who asks would take. */
const ANSWER = JSON.stringify({ id: '1', choices: [{ message: { content: 'Hi' } }], data: {} })

type Ask = (url: string, timeoutMs: number, signal?: AbortSignal) => Promise<unknown>

/** More than anybody reads. */
const TOO_LONG = Buffer.alloc(33 << 20, ' ')

/** Who asks services of somebody else, and what comes of no answer, one that leads elsewhere and one that is too long. */
const ASKERS: readonly { who: string; ask: Ask; unanswered: object; elsewhere: object; tooLong: object }[] = [
  {
    who: 'a gateway',
    ask: (url, timeoutMs, signal) => httpChannel({ url, from: null }, null, timeoutMs).send(PARCEL, signal),
    unanswered: { is: 'later', unanswered: true },
    elsewhere: { is: 'later', unanswered: true },
    tooLong: { is: 'sent', providerMessageId: null },
  },
  {
    who: 'an agent',
    ask: (url, timeoutMs, signal) =>
      chat({ url, key: null, model: 'm' }, [], { mostTokens: 9, timeoutMs, signal }),
    unanswered: { code: 'upstream_unavailable' },
    elsewhere: { code: 'upstream_unavailable', message: /redirect/ },
    tooLong: { code: 'upstream_error', message: /too long/ },
  },
  {
    who: 'a store',
    ask: (origin, timeoutMs, signal) =>
      openAdminApi({ origin, accessToken: 'x', patienceMs: 0, timeoutMs, signal }).query('query a'),
    unanswered: { code: 'upstream_unavailable', cause: { message: /could not be reached/ } },
    elsewhere: { code: 'upstream_unavailable', message: /redirect/ },
    tooLong: { code: 'upstream_unavailable', message: /too long/ },
  },
]

async function listening(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A service whose answer has headers at once and a body after three seconds, while garbage is collected here. */
const trickling = (t: Test, onTrickle = () => {}) =>
  listening(t, (_request, response) => {
    let blanks = 0
    const more = setInterval(() => {
      if (++blanks > 60) return response.end(ANSWER)
      collectGarbage()
      response.write(' ')
      onTrickle()
    }, 50)
    response.once('close', () => clearInterval(more))
    response.flushHeaders()
  })

const outcome = (asked: Promise<unknown>) => asked.catch((error: unknown) => error)

for (const { who, ask, unanswered, elsewhere, tooLong } of ASKERS) {
  t.test(`${who} whose answer trickles is waited for no longer than is allowed`, async (t) => {
    t.match(await outcome(ask(await trickling(t), 500)), unanswered)
  })

  t.test(`${who} whose answer trickles is let go of when the job is over`, async (t) => {
    const job = new AbortController()
    let blanks = 0
    const url = await trickling(t, () => ++blanks === 5 && job.abort(new Error('over')))
    t.match(await outcome(ask(url, 60_000, job.signal)), { message: 'over' })
  })

  t.test(`${who} that sends elsewhere is not followed`, async (t) => {
    const asked: (string | undefined)[] = []
    const url = await listening(t, ({ url }, response) => {
      asked.push(url)
      response.writeHead(307, { location: '/elsewhere' }).end(ANSWER)
    })
    t.match(await outcome(ask(url, 5_000)), elsewhere)
    t.equal(asked.length, 1)
  })

  t.test(`${who} whose answer is too long is heard no further`, async (t) => {
    const url = await listening(t, (_request, response) => void response.end(TOO_LONG))
    t.match(await outcome(ask(url, 5_000)), tooLong)
  })
}

t.test('a gateway that says to wait for ever is asked again within an hour', async (t) => {
  const url = await listening(t, (_request, response) => {
    response.writeHead(503, { 'retry-after': '1e12' }).end()
  })
  t.match(await httpChannel({ url, from: null }, null).send(PARCEL), { is: 'later', afterMs: 3_600_000 })
})
