import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { syncFolder } from '../folder.ts'
import { type Account, reaches } from './account.ts'

/** What a data folder remembers of its cluster, in DATA_DIR/postgres.json. */
export interface Home {
  /** Folder of the cluster: inside the data folder, unless the server's user cannot reach that. */
  cluster: string
  port: number
  password: string
  adminPassword: string
}

/**
 * Folders of last resort, for root with a private data folder. /var/tmp only where /var/lib is read-only:
 * systemd removes what lies there untouched for 30 days.
 */
const ELSEWHERE = ['/var/lib/recoup', '/var/tmp/recoup']

const stateFile = (dataDir: string) => join(dataDir, 'postgres.json')

/** What the folder remembers; null before its first start. */
export function readHome(dataDir: string): Home | null {
  try {
    const { cluster, port, password, adminPassword } = JSON.parse(
      readFileSync(stateFile(dataDir), 'utf8'),
    ) as Home
    return { cluster: resolve(dataDir, cluster), port, password, adminPassword }
  } catch (cause) {
    if (MISSING.includes((cause as NodeJS.ErrnoException).code ?? '')) return null
    throw new Error(
      `${stateFile(dataDir)} cannot be read: it holds place and password of the embedded Postgres.`,
      { cause },
    )
  }
}

/** The data folder may be a file. */
const MISSING = ['ENOENT', 'ENOTDIR']

/** Atomic and durable: without this file the cluster cannot be opened. */
export function writeHome(dataDir: string, home: Home): void {
  const inside = join(dataDir, 'postgres')
  const text = JSON.stringify(
    { ...home, cluster: home.cluster === inside ? 'postgres' : home.cluster },
    null,
    2,
  )
  const file = openSync(`${stateFile(dataDir)}.new`, 'w', 0o600)
  writeSync(file, `${text}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${stateFile(dataDir)}.new`, stateFile(dataDir))
  syncFolder(dataDir)
}

/** A place for a new cluster that its server can reach, with fresh passwords; the port is chosen at the start. */
export function newHome(dataDir: string, account: Account | null): Home {
  const inside = join(dataDir, 'postgres')
  if (existsSync(join(inside, 'PG_VERSION'))) {
    throw new Error(
      `${stateFile(dataDir)} is missing, and with it the password of the Postgres in ${inside}. ` +
        'Put the file back, or remove that folder to begin anew.',
    )
  }
  const reachable = reaches(account, dataDir) || letPass(account, dataDir)
  const cluster = reachable ? inside : elsewhere(account, dataDir)
  const secret = () => randomBytes(24).toString('hex')
  return { cluster, port: 0, password: secret(), adminPassword: secret() }
}

export const ownerUrl = (home: Home) => urlOf('recoup', home.password, home.port, 'recoup')
export const adminUrl = (home: Home) => urlOf('postgres', home.adminPassword, home.port, 'postgres')

const urlOf = (user: string, password: string, port: number, database: string) =>
  `postgres://${user}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`

/** Opens a data folder that is closed to its group for the server's group alone, to pass through and not to list. */
function letPass(account: Account | null, dataDir: string): boolean {
  const { mode, uid, gid } = statSync(dataDir)
  const closed = (mode & 0o070) === 0 && uid === process.getuid?.()
  if (!account || !closed || !reaches(account, dirname(dataDir))) return false
  chownSync(dataDir, uid, account.gid)
  chmodSync(dataDir, (mode & 0o777) | 0o010)
  if (reaches(account, dataDir)) return true
  chownSync(dataDir, uid, gid)
  chmodSync(dataDir, mode & 0o777)
  return false
}

/** Beside a cluster outside of its data folder: which one that is. */
const ownerFile = ({ cluster }: Home) => `${cluster}.data-dir`

/**
 * The data folder whose cluster this is, other than the given one, which then is a copy of it; null: it is the given one's,
 * also one that was moved.
 */
export function otherOwner(dataDir: string, home: Home): string | null {
  if (!existsSync(ownerFile(home))) return null
  const owner = readFileSync(ownerFile(home), 'utf8').trimEnd()
  return owner !== dataDir && readHome(owner)?.cluster === home.cluster ? owner : null
}

/** Throws where a cluster that lies outside is another data folder's. */
export function claimOutside(dataDir: string, home: Home): void {
  if (home.cluster === join(dataDir, 'postgres')) return
  const owner = otherOwner(dataDir, home)
  if (owner !== null) {
    throw new Error(
      `${dataDir} is a copy of ${owner}, whose Postgres is the one in ${home.cluster}: use DATA_DIR=${owner}, ` +
        `or remove ${stateFile(dataDir)} to begin anew. To copy a service use recoup backup and recoup restore.`,
    )
  }
  mkdirSync(dirname(home.cluster), { recursive: true })
  writeFileSync(ownerFile(home), `${dataDir}\n`)
}

/** Removes a cluster that is the data folder's own. */
export function removeCluster(home: Home): void {
  rmSync(home.cluster, { recursive: true, force: true })
  rmSync(ownerFile(home), { force: true })
}

/** A folder that root owns and the account can reach, outside of a private data folder. */
function elsewhere(account: Account | null, dataDir: string): string {
  const folder = reachableFolder(account)
  if (!folder) {
    throw new Error(
      `Postgres runs as the user "${account?.name}", which can reach neither ${dataDir} nor ${ELSEWHERE.join(' nor ')}. ` +
        'Set DATA_DIR to a folder that every user may enter, or run Recoup as another user than root, or set DATABASE_URL.',
    )
  }
  // Never a fixed name: a data folder that was removed and made again must not find the earlier one's cluster.
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 12)
  return join(folder, `${name}-${randomBytes(4).toString('hex')}`)
}

/** The first of the outside folders that works for the account; made when missing. */
export function reachableFolder(account: Account | null): string | null {
  for (const folder of ELSEWHERE) {
    try {
      mkdirSync(folder, { recursive: true })
      const found = lstatSync(folder)
      // Somebody else's folder of that name in /var/tmp is not ours to trust.
      if (!found.isDirectory() || found.uid !== process.getuid?.()) continue
      chmodSync(folder, 0o755)
      if (reaches(account, folder)) return folder
    } catch {
      // Read-only or missing: the next one.
    }
  }
  return null
}
