import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import type { Test } from 'tap'
import type { RandomSource } from '../fixtures/random.ts'
import type { Started } from '../fixtures/recoup.ts'
import type { Stage } from './stage.ts'

/** Faults of servers and of Postgres, so many of each, while clients send events. */
export interface Rounds {
  kills: number
  stops: number
  terminations: number
  cuts: number
  restarts: number
}

/** Of one of several servers on a port, or of all one after the other. */
export interface ProcessRounds {
  kills: number
  restarts: number
}

const ALL_TAKEN = ['custom 200', 'events 200', 'ingest 202', 'store 200']

const SERVERS = 2

type Scenario = (t: Test, stage: Stage, random: RandomSource, times: number) => Promise<void>

export const SCENARIOS: readonly { what: string; times: keyof Rounds; run: Scenario }[] = [
  { what: 'kill -9 of the server', times: 'kills', run: killServers },
  { what: 'immediate stops of Postgres', times: 'stops', run: stopPostgres },
  { what: 'pg_terminate_backend', times: 'terminations', run: terminateBackends },
  { what: 'connections cut between COMMIT and its reply', times: 'cuts', run: cutReplies },
  { what: 'rolling restarts by SIGTERM', times: 'restarts', run: restartServers },
]

async function killServers(t: Test, stage: Stage, random: RandomSource, times: number): Promise<void> {
  let server = await stage.server()
  await stage.during(t, random, async ({ served }) => {
    for (let n = 0; n < times; n++) {
      await served()
      await pause(random.below(400))
      await ended(server, 'SIGKILL')
      server = await stage.serve()
    }
  })
}

async function stopPostgres(t: Test, stage: Stage, random: RandomSource, times: number): Promise<void> {
  const server = await stage.server()
  await stage.during(t, random, async ({ served }) => {
    for (let n = 0; n < times; n++) {
      await served()
      await pause(random.below(500))
      await stage.postgres.stop('immediate')
      await pause(random.below(300))
      await stage.postgres.start()
    }
  })
  t.equal(server.child.exitCode, null, 'the server was not restarted')
}

async function terminateBackends(t: Test, stage: Stage, random: RandomSource, times: number): Promise<void> {
  const server = await stage.server()
  const admin = postgres(stage.postgres.adminUrl, { max: 1, onnotice: () => {} })
  let count = 0
  await stage.during(t, random, async () => {
    while (count < times) {
      const backends = await admin<{ pid: number }[]>`
        select pid from pg_stat_activity where datname = 'recoup' and backend_type = 'client backend'`
      for (const pid of random.list(1, 3, () => random.pick(backends)?.pid ?? 0)) {
        const [row] = await admin<{ ended: boolean }[]>`select pg_terminate_backend(${pid}) as ended`
        if (row?.ended) count++
      }
      await pause(random.below(100))
    }
  })
  await admin.end()
  t.comment(`${count} backends`)
  t.equal(server.child.exitCode, null, 'the server was not restarted')
}

async function cutReplies(t: Test, stage: Stage, random: RandomSource, times: number): Promise<void> {
  const server = await stage.server()
  await stage.during(t, random, async () => {
    for (let n = 0; n < times; n++) {
      // Of a statement or a transaction that is over: the connection is idle then.
      await stage.between.cutAt(`${random.pick(['INSERT 0 1', 'COMMIT'])}\0Z\0\0\0\u0005I`)
      await pause(random.below(100))
    }
  })
  t.equal(server.child.exitCode, null, 'the server was not restarted')
}

/** Two servers share the port; each time another one starts, then the older one is asked to stop. */
async function restartServers(t: Test, stage: Stage, random: RandomSource, times: number): Promise<void> {
  const servers = [await stage.server(), await stage.serve()]
  const { seen } = await stage.during(t, random, async () => {
    for (let n = 0; n < times; n++) {
      servers.push(await stage.serve())
      await pause(random.below(300))
      t.equal((await ended(servers.shift() as Started, 'SIGTERM')).code, 0)
    }
  })
  t.same([...seen.keys()].sort(), ALL_TAKEN, 'no connection was reset and no request refused')
  for (const server of servers) await ended(server, 'SIGTERM')
}

export const PROCESS_SCENARIOS: readonly { what: string; times: keyof ProcessRounds; run: Scenario }[] = [
  { what: 'kill -9 of one of two servers', times: 'kills', run: killOneServer },
  { what: 'rolling restarts by SIGHUP', times: 'restarts', run: replaceServers },
]

/** A pause of the supervisor comes before each new start; the other server goes on meanwhile. */
async function killOneServer(t: Test, stage: Stage, random: RandomSource, times: number): Promise<void> {
  const { started, children } = await stage.supervised(SERVERS)
  await stage.during(t, random, async ({ served }) => {
    for (let n = 0; n < times; n++) {
      await pause(random.below(400))
      process.kill(random.pick(await children()), 'SIGKILL')
      await served()
    }
    await children()
  })
  t.equal((await ended(started, 'SIGTERM')).code, 0)
}

async function replaceServers(t: Test, stage: Stage, random: RandomSource, times: number): Promise<void> {
  const { started, children } = await stage.supervised(SERVERS)
  const { seen } = await stage.during(t, random, async () => {
    for (let n = 0; n < times; n++) {
      const before = await children()
      await pause(random.below(300))
      started.child.kill('SIGHUP')
      await children(before)
    }
  })
  t.same([...seen.keys()].sort(), ALL_TAKEN, 'no connection was reset and no request refused')
  t.equal((await ended(started, 'SIGTERM')).code, 0)
}

async function ended(server: Started, signal: 'SIGKILL' | 'SIGTERM') {
  if (server.child.exitCode === null && server.child.signalCode === null) {
    server.child.kill(signal)
    await once(server.child, 'exit')
  }
  return await server.ended
}
