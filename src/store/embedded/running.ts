import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../../errors.ts'
import type { log as Log } from '../../log.ts'
import connect from '../driver.ts'
import { type Account, ownerAccount, reaches, serverAccount } from './account.ts'
import { adminUrl, claimOutside, type Home, newHome, readHome, writeHome } from './home.ts'
import { endOrphans, findPostmaster, isOutdated, stopPostmaster } from './postmaster.ts'
import { type Programs, programsFor } from './programs.ts'
import { createCluster, freePort, isFree, type Settings, startServer } from './server.ts'

export interface Start {
  dataDir: string
  settings: Settings
  log: typeof Log
  /** Whether no process uses the cluster. */
  unused(): Promise<boolean>
}

const MAJOR = '18'
/** Crash recovery of a large WAL can take minutes. */
const PATIENCE_MS = 600_000

/** Makes, heals, starts or reuses the server of a data folder. The caller holds the folder's start lock. */
export async function ensureRunning(start: Start): Promise<Home> {
  const { dataDir, log } = start
  const known = readHome(dataDir)
  if (known) claimOutside(dataDir, known)
  if (known && existsSync(join(known.cluster, 'PG_VERSION'))) return await existing(known, start)
  if (known?.port) {
    throw new Error(
      `The embedded Postgres of ${dataDir} is gone: there is no cluster in ${known.cluster}. ` +
        'Put it back, or remove the data folder to begin anew.',
    )
  }
  const account = serverAccount()
  const home = known ?? newHome(dataDir, account)
  const programs = programsFor(account)
  if (home.cluster !== join(dataDir, 'postgres')) {
    const why = `Postgres runs as the user "${account?.name}", which cannot enter the data folder`
    log('warn', 'postgres_outside_data_dir', { cluster: home.cluster, data_dir: dataDir, why })
  }
  writeHome(dataDir, home)
  claimOutside(dataDir, home)
  createCluster(home.cluster, programs, account, home.adminPassword)
  return await startOnFreePort(home, programs, account, start)
}

async function existing(home: Home, start: Start): Promise<Home> {
  const account = ownerAccount(home.cluster)
  if (account && !reaches(account, dirname(home.cluster))) {
    throw new Error(
      `Postgres runs as the user "${account.name}", which can no longer enter ${dirname(home.cluster)}: ` +
        'let every user pass through that folder and those above it (chmod a+x), or set DATABASE_URL.',
    )
  }
  checkVersion(home.cluster)
  const programs = programsFor(account)
  const living = findPostmaster(home.cluster)
  // A server whose program file was replaced cannot load its libraries any more.
  if (living && isOutdated(living, programs.postgres) && (await start.unused()))
    await stopPostmaster(home.cluster, 'fast')
  else if (living) {
    const running = { ...home, port: living.port }
    if (await isReady(running)) {
      if (running.port !== home.port) writeHome(start.dataDir, running)
      return running
    }
  }
  await endOrphans(home.cluster)
  return await startOnFreePort(home, programs, account, start)
}

async function startOnFreePort(
  home: Home,
  programs: Programs,
  account: Account | null,
  start: Start,
): Promise<Home> {
  for (let attempt = 1; ; attempt++) {
    const port = home.port && (await isFree(home.port)) ? home.port : await freePort()
    const running = { ...home, port }
    try {
      await startServer(home.cluster, programs, account, { ...start.settings, port })
      if (port !== home.port) writeHome(start.dataDir, running)
      if (!(await isReady(running)))
        throw new Error(`The embedded Postgres in ${home.cluster} stopped while it started.`)
      start.log('debug', 'postgres_started', {
        cluster: home.cluster,
        port,
        user: account?.name,
        copied: programs.copied,
      })
      return running
    } catch (error) {
      // Only a port that somebody took between the probe and the start is worth another try.
      if (attempt === 3 || findPostmaster(home.cluster) || (await isFree(port))) throw error
    }
  }
}

function checkVersion(cluster: string): void {
  const version = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  if (version === MAJOR) return
  throw new Error(
    `${cluster} was made by Postgres ${version} and this Recoup brings Postgres ${MAJOR}: ` +
      'restore a backup into a new data folder, or set DATABASE_URL.',
  )
}

/** True when the server answers and our role exists; false when it has gone meanwhile. */
async function isReady(home: Home): Promise<boolean> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const admin = connect(adminUrl(home), {
      max: 1,
      connect_timeout: 10,
      onnotice: () => {},
      fetch_types: false,
    })
    try {
      await admin.unsafe(OWNER.replaceAll('PASSWORD', home.password))
      return true
    } catch (error) {
      // 57P03: it starts, recovers or stops. A refused connection: it does not listen yet, or any more.
      if (!['57P03', 'ECONNREFUSED', 'ECONNRESET', 'CONNECTION_CLOSED'].includes(errorCode(error) ?? ''))
        throw error
      if (!findPostmaster(home.cluster)) return false
      if (Date.now() > deadline)
        throw new Error(`The embedded Postgres in ${home.cluster} does not get ready.`, { cause: error })
      await sleep(50)
    } finally {
      await admin.end({ timeout: 1 })
    }
  }
}

/** Made at every start when missing: a kill may have come between the first start and this. */
const OWNER = `do $$ begin
  if exists (select from pg_roles where rolname = 'recoup') then return; end if;
  create role recoup login createdb createrole password 'PASSWORD';
  grant pg_monitor, pg_checkpoint to recoup;
end $$`
