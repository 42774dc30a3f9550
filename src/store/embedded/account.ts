import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'

/** The user that the server runs as. Postgres refuses to run as root. */
export interface Account {
  name: string
  uid: number
  gid: number
}

/** The account for a new cluster; null: the user of this process. Makes the user `postgres` when root has none. */
export function serverAccount(): Account | null {
  if (process.getuid?.() !== 0) return null
  const known = accountOf('postgres')
  if (known) return known
  const made = spawnSync('useradd', [
    '--system',
    '--user-group',
    '--no-create-home',
    '--shell',
    '/usr/sbin/nologin',
    'postgres',
  ])
  // Another process may have made it at the same moment.
  const account = accountOf('postgres')
  if (account) return account
  throw new Error(
    'Postgres does not run as root, and the user "postgres" is missing and could not be made' +
      `${made.stderr ? ` (${made.stderr.toString().trim()})` : ''}. ` +
      'Run Recoup as another user, or make that user, or set DATABASE_URL.',
  )
}

/** The account that owns a cluster which exists; throws when this process may not run it. */
export function ownerAccount(cluster: string): Account | null {
  const { uid, gid } = statSync(cluster)
  const own = process.getuid?.()
  if (uid === own) return null
  if (own === 0) return { name: accountName(uid), uid, gid }
  throw new Error(
    `The embedded Postgres in ${cluster} belongs to the user ${accountName(uid)}: run Recoup as that user or as root.`,
  )
}

/** Whether the account may go into a folder (through all folders above it); access lists count as well. */
export function reaches(account: Account | null, folder: string): boolean {
  return spawnSync('test', ['-x', folder], { stdio: 'ignore', ...as(account) }).status === 0
}

/** Options of spawn that switch to the account. */
export function as(account: Account | null): { uid?: number; gid?: number } {
  return account ? { uid: account.uid, gid: account.gid } : {}
}

function accountOf(name: string): Account | null {
  const line = spawnSync('getent', ['passwd', name]).stdout?.toString() ?? ''
  const [found, , uid, gid] = line.trim().split(':')
  return found === name ? { name, uid: Number(uid), gid: Number(gid) } : null
}

function accountName(uid: number): string {
  return (
    spawnSync('getent', ['passwd', String(uid)])
      .stdout?.toString()
      .split(':')[0] || String(uid)
  )
}
