import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Account, as } from './account.ts'
import { takeLock } from './lock.ts'
import type { Programs } from './programs.ts'

export type Settings = Record<string, string | number>

/** This package is built without lz4, so full pages stay uncompressed in the WAL: pglz costs more than it saves here. */
const SETTINGS: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  // Commits wait while a new segment is filled with zeros (50 to 100 ms): so many old ones stay for a burst to come.
  min_wal_size: '1GB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  timezone: 'UTC',
  // A killed client must not hold a transaction, and with it the export horizon, until its query ends.
  client_connection_check_interval: '1s',
  // Memory that backends share comes from files of the cluster: /dev/shm is 64 MB in containers, and a kill leaks there.
  dynamic_shared_memory_type: 'mmap',
  max_parallel_workers_per_gather: 0,
  logging_collector: 'on',
  log_directory: 'log',
  // A week of days, each file begun anew when its day comes again.
  log_filename: 'postgres-%a.log',
  log_rotation_age: '1d',
  log_rotation_size: 0,
  log_truncate_on_rotation: 'on',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
  // Details of errors quote row values, which can be personal data.
  log_error_verbosity: 'terse',
}

const OWN_SETTINGS = 'recoup.conf'

/** Locked by the server and its backends for as long as they live, also for who does not see these processes. */
export const SERVER_LOCK = 'server.lock'

/** Makes a cluster; a kill half-way leaves nothing that counts as one. */
export function createCluster(
  cluster: string,
  programs: Programs,
  account: Account | null,
  adminPassword: string,
): void {
  const attempt = `${cluster}.new`
  const passwordFile = `${cluster}.password`
  rmSync(attempt, { recursive: true, force: true })
  mkdirSync(join(cluster, '..'), { recursive: true })
  mkdirSync(attempt, { mode: 0o700 })
  give(attempt, account)
  try {
    writeFileSync(passwordFile, adminPassword, { mode: 0o600 })
    give(passwordFile, account)
    const made = run(programs.initdb, account, attempt, [
      ...['--pgdata', attempt, '--username', 'postgres', '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
      // Independent of the machine's locales, and sorts by code point as DuckDB does.
      ...[
        '--encoding',
        'UTF8',
        '--locale-provider',
        'builtin',
        '--builtin-locale',
        'C.UTF-8',
        '--locale',
        'C',
        '--no-instructions',
      ],
    ])
    if (made.status !== 0)
      throw new Error(`Postgres could not make its data folder ${cluster}: ${said(made)}`)
  } finally {
    rmSync(passwordFile, { force: true })
  }
  appendFileSync(join(attempt, 'postgresql.conf'), `\ninclude_if_exists '${OWN_SETTINGS}'\n`)
  renameSync(attempt, cluster)
}

/**
 * Starts the server in a session of its own, so that Ctrl-C on our terminal does not reach it; resolves when it is up.
 * The caller sees no process of the cluster.
 */
export async function startServer(
  cluster: string,
  programs: Programs,
  account: Account | null,
  settings: Settings,
): Promise<void> {
  const held = await takeLock(join(cluster, SERVER_LOCK), 'exclusive', 1)
  if (!held)
    throw new Error(
      `Another Postgres works in ${cluster}, which cannot be seen from here, such as that of another container with this ` +
        'volume: two would destroy the data. Stop the other Recoup first.',
    )
  try {
    await startHolding(held.file, cluster, programs, account, settings)
  } finally {
    held.release()
  }
}

async function startHolding(
  held: number,
  cluster: string,
  programs: Programs,
  account: Account | null,
  settings: Settings,
): Promise<void> {
  const lines = Object.entries({ ...SETTINGS, ...settings }).map(([name, value]) => `${name} = '${value}'`)
  writeOwned(join(cluster, OWN_SETTINGS), `# Written at every start.\n${lines.join('\n')}\n`, account)
  // Nothing lives in this cluster: its lock is ours. A recycled pid would only mislead Postgres.
  rmSync(join(cluster, 'postmaster.pid'), { force: true })

  const since = new Date()
  const output = join(cluster, 'start.log')
  writeOwned(output, '', account)
  const file = openSync(output, 'a')
  const child = spawn(programs.pg_ctl, ['start', '-w', '-t', '600', '-D', cluster, '-l', output], {
    cwd: cluster,
    env: environment(cluster),
    detached: true,
    stdio: ['ignore', file, file, held],
    ...as(account),
  })
  closeSync(file)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  if (code !== 0)
    throw new Error(`The embedded Postgres in ${cluster} does not start: ${complaints(cluster, since)}`)
}

/** A free port below the range from which outgoing connections take theirs, so that it is free at the next start too. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if (await isFree(port)) return port
  }
  throw new Error('There is no free port between 20000 and 32000 for the embedded Postgres.')
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)))
  })
}

/**
 * What glibc keeps of a backend's memory: otherwise that of each batch of events goes back to the system and is asked
 * for anew, a seventh of what Postgres takes to store 390 KB.
 */
const MEMORY = { MALLOC_TRIM_THRESHOLD_: String(8 << 20), MALLOC_MMAP_THRESHOLD_: String(4 << 20) }

/** Nothing of the caller's environment (PGDATA, PGOPTIONS, LC_ALL, …) reaches the server. */
function environment(cluster: string): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: cluster, LC_ALL: 'C', TZ: 'UTC', ...MEMORY }
}

function run(
  program: string,
  account: Account | null,
  folder: string,
  args: string[],
): SpawnSyncReturns<Buffer> {
  return spawnSync(program, args, { cwd: folder, env: environment(folder), ...as(account) })
}

function said({ error, stdout, stderr }: SpawnSyncReturns<Buffer>): string {
  return (
    error?.message ?? (stderr.toString().trim() || stdout.toString().trim().split('\n').slice(-3).join(' '))
  )
}

/** What Postgres said since then, for the error of a start that failed. */
function complaints(cluster: string, since: Date): string {
  const folder = join(cluster, 'log')
  const logs = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
  const from = since.toISOString().replace('T', ' ').slice(0, 19)
  const lines = [join(cluster, 'start.log'), ...logs]
    .flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'))
    .filter((line) => !/^\d{4}-/.test(line) || line >= from)
  const errors = lines.filter((line) => /FATAL|PANIC|ERROR|could not/.test(line))
  return [...new Set(errors.length ? errors : lines)].slice(-5).join(' | ')
}

function writeOwned(path: string, text: string, account: Account | null): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  give(`${path}.new`, account)
  renameSync(`${path}.new`, path)
}

function give(path: string, account: Account | null): void {
  if (account) chownSync(path, account.uid, account.gid)
}
