import { spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import type { Test } from 'tap'
import type { Embedded } from '../../src/store/embedded.ts'
import { eventually } from '../fixtures/eventually.ts'
import type { RandomSource } from '../fixtures/random.ts'
import { databaseUrl } from '../fixtures/shared.ts'
import { openStage } from './stage.ts'

/** A disk of Postgres that can be full and free again. */
interface Disk {
  /** How it is made, for the report of the test. */
  kind: string
  fill(): Promise<void>
  free(): Promise<void>
}

const DISK_BYTES = 64 << 20
/** Left free by `fill`: less than a second of load. */
const LEFT_BYTES = 256 << 10
const REFUSED = 8

/** Postgres' disk gets full under load and is freed, so many times: 503 meanwhile, no restart, nothing lost. */
export async function diskFull(t: Test, random: RandomSource, times: number): Promise<void> {
  const made: { disk?: Disk | undefined } = {}
  const stage = await openStage(t, async (embedded) => {
    made.disk = await smallDisk(t, embedded)
  })
  const disk = made.disk ?? (await limitedFiles(stage.postgres))
  t.comment(`the disk is ${disk.kind}`)
  const server = await stage.serve()
  await stage.during(t, random, async ({ seen, served }) => {
    const refused = () => seen.get('events 503') ?? 0
    for (let n = 0; n < times; n++) {
      const before = refused()
      await disk.fill()
      await eventually(async () => refused() >= before + REFUSED, { withinMs: 60_000 })
      await pause(random.below(500))
      await disk.free()
      await served(REFUSED)
    }
  })
  t.equal(server.child.exitCode, null, 'the server was not restarted')
}

async function inCluster<T>(
  { adminUrl }: Embedded,
  work: (admin: postgres.Sql) => Promise<T>,
  database = 'postgres',
): Promise<T> {
  const admin = postgres(databaseUrl(adminUrl, database), { max: 1, onnotice: () => {} })
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}

const dataDirectory = async (admin: postgres.Sql) =>
  (await admin<{ data_directory: string }[]>`show data_directory`)[0]?.data_directory ?? ''

/** All tables in a tmpfs of 64 MB, which takes root to mount; nothing when that is refused. */
async function smallDisk(t: Test, embedded: Embedded): Promise<Disk | undefined> {
  if (process.env.FAULTS_DISK === 'limit') return undefined
  const folder = mkdtempSync(join(tmpdir(), 'recoup-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=700`, 'tmpfs', folder])
  if (mounted.status !== 0) {
    rmSync(folder, { recursive: true })
    return undefined
  }
  t.teardown(async () => {
    // Lazily: Postgres, which has files there, ends later.
    spawnSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  await inCluster(embedded, async (admin) => {
    chownSync(folder, statSync(await dataDirectory(admin)).uid, -1)
    await admin.unsafe(`create tablespace small location '${folder}'`)
    await admin`grant create on tablespace small to public`
    await admin`alter system set default_tablespace = small`
    await admin`select pg_reload_conf()`
  })
  const filler = join(folder, 'filler')
  return {
    kind: 'a tmpfs of 64 MB',
    fill: async () => {
      const { bavail, bsize } = statfsSync(folder)
      writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - LEFT_BYTES), 1))
    },
    free: async () => rmSync(filler),
  }
}

/** Of rows that stay in their table: 24 MB. */
const BALLAST = { rows: 12_000, bytes: 1_900 }

/** Where nothing may be mounted: Postgres may make no file longer than the one with the batches of events is. */
async function limitedFiles(embedded: Embedded): Promise<Disk> {
  const table = await inCluster(
    embedded,
    async (admin) => {
      // Longer than a segment of the WAL, which must not fail. The rows are gone, their space stays taken.
      const [row] = await admin.begin(async (tx) => {
        const rows = await tx<{ oid: number }[]>`
        insert into event_log (received_at, batch_id, event_count, payload)
        select now(), gen_random_uuid(), 1, convert_to(repeat('x', ${BALLAST.bytes}::integer), 'UTF8')
        from generate_series(1, ${BALLAST.rows}::integer) returning tableoid as oid`
        await tx`delete from event_log where received_at = now()`
        return rows
      })
      const [named] = await admin<{ name: string }[]>`select ${row?.oid ?? 0}::oid::regclass::text as name`
      if (!named) throw new Error('the log of events has no table')
      await admin.unsafe(`alter table ${named.name} set (autovacuum_enabled = off)`)
      return named
    },
    'recoup',
  )
  const limit = (bytesOf: (admin: postgres.Sql) => Promise<number | 'unlimited'>) =>
    inCluster(
      embedded,
      async (admin) => {
        const folder = await dataDirectory(admin)
        // Only the user of the processes may; root alone is not enough in every container.
        const { uid, gid } = statSync(folder)
        const as = process.getuid?.() === uid ? {} : { uid, gid }
        const size = `--fsize=${await bytesOf(admin)}:`
        const [postmaster] = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')
        const backends = await admin<{ pid: number }[]>`select pid from pg_stat_activity`
        const [limited] = [postmaster, ...backends.map((backend) => backend.pid)].map((pid) =>
          spawnSync('prlimit', ['--pid', `${pid}`, size], { ...as, encoding: 'utf8' }),
        )
        if (limited?.status !== 0) throw new Error(`prlimit (util-linux) is needed: ${limited?.stderr}`)
      },
      'recoup',
    )
  return {
    kind: 'a limit of the size of files',
    fill: () =>
      limit(async (admin) => {
        const [size] = await admin<{ bytes: number }[]>`
          select pg_relation_size(${table.name}::text::regclass)::float8 as bytes`
        return size?.bytes ?? 0
      }),
    free: () => limit(async () => 'unlimited'),
  }
}
