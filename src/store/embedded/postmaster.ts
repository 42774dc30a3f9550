import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Postmaster {
  pid: number
  port: number
}

export type StopMode = 'smart' | 'fast' | 'immediate' | 'kill'

const SIGNAL = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const

/** The living server of a cluster; a pid file that another process's pid, or none, stands behind does not count. */
export function findPostmaster(cluster: string): Postmaster | null {
  let lines: string[]
  try {
    lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return null
  }
  const pid = Number(lines[0])
  return worksIn(pid, cluster) ? { pid, port: Number(lines[3]) } : null
}

/** Whether the server's program file is no longer the one that a start would run (removed, replaced or moved). */
export function isOutdated(postmaster: Postmaster, program: string): boolean {
  try {
    return readlinkSync(`/proc/${postmaster.pid}/exe`) !== realpathSync(program)
  } catch {
    return true
  }
}

/** Stops the server and waits until it and its backends are gone. */
export async function stopPostmaster(cluster: string, mode: StopMode): Promise<void> {
  const postmaster = findPostmaster(cluster)
  if (postmaster) {
    signal(postmaster.pid, SIGNAL[mode])
    const gone = () => !worksIn(postmaster.pid, cluster)
    // The checkpoint of a fast stop can take long on a slow disk; an immediate stop loses nothing, it only recovers later.
    if (!(await waitUntil(gone, 60_000))) signal(postmaster.pid, 'SIGQUIT')
    if (!(await waitUntil(gone, 10_000))) signal(postmaster.pid, 'SIGKILL')
  }
  await endOrphans(cluster)
}

/** Backends outlive a killed server until they notice: a new one must wait for them. */
export async function endOrphans(cluster: string): Promise<void> {
  const gone = () => processesIn(cluster).length === 0
  if (await waitUntil(gone, 2_000)) return
  for (const name of ['SIGQUIT', 'SIGKILL'] as const) {
    for (const pid of processesIn(cluster)) signal(pid, name)
    if (await waitUntil(gone, 5_000)) return
  }
  throw new Error(
    `Processes of an earlier Postgres in ${cluster} do not end: ${processesIn(cluster).join(', ')}`,
  )
}

/** Every process of a cluster has the cluster as its working folder. */
function processesIn(cluster: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => worksIn(pid, cluster))
}

function worksIn(pid: number, cluster: string): boolean {
  try {
    if (readlinkSync(`/proc/${pid}/cwd`) !== realpathSync(cluster)) return false
    return /\/postgres( \(deleted\))?$/.test(readlinkSync(`/proc/${pid}/exe`))
  } catch {
    return false
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function waitUntil(holds: () => boolean, milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds
  while (!holds()) {
    if (Date.now() > deadline) return false
    await sleep(10)
  }
  return true
}
