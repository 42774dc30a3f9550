import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, statSync } from 'node:fs'

/** A lock of the kernel on a file: it ends with the process, however that ends. */
export interface Lock {
  /** A process that is started with this open file keeps the lock, too. */
  file: number
  release(): void
}

/**
 * Takes a lock on a file (made when missing). `seconds` 0 does not wait; null when it is held by another.
 * Node has no flock: the command takes it on our open file and the lock stays with that open file.
 */
export async function takeLock(
  path: string,
  kind: 'shared' | 'exclusive',
  seconds: number,
): Promise<Lock | null> {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const file = openSync(path, 'a', 0o600)
    const patience = seconds === 0 ? 0 : Math.max(1, deadline - Date.now())
    const held = await flock(file, kind, patience).catch((error) => {
      closeSync(file)
      throw error
    })
    // The file may have been removed, or replaced, while we waited for it.
    if (held && isStill(file, path)) return { file, release: once(() => closeSync(file)) }
    closeSync(file)
    if (!held) return null
  }
}

function flock(file: number, kind: 'shared' | 'exclusive', milliseconds: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const options = [kind === 'shared' ? '-s' : '-x', ...(milliseconds === 0 ? ['-n'] : []), '3']
    // In a group of its own: Ctrl-C on our terminal would take the lock from whoever is about to end in good order.
    const child = spawn('flock', options, { stdio: ['ignore', 'ignore', 'ignore', file], detached: true })
    const timer = milliseconds === 0 ? undefined : setTimeout(() => child.kill('SIGKILL'), milliseconds)
    child.once('error', (cause) => {
      clearTimeout(timer)
      reject(
        new Error('The command flock (package util-linux) is needed for the embedded Postgres.', { cause }),
      )
    })
    child.once('exit', (code) => {
      clearTimeout(timer)
      resolve(code === 0)
    })
  })
}

function isStill(file: number, path: string): boolean {
  const now = statSync(path, { throwIfNoEntry: false })
  return now !== undefined && now.ino === fstatSync(file).ino
}

function once(work: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    work()
  }
}
