import { connect } from 'node:net'

/** What a client of Postgres says first where it would like TLS; `S` is yes. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const ANSWER_MS = 10_000

interface PgConnection {
  connectionString: string
  ssl: false | { rejectUnauthorized?: false }
}

/**
 * The connection of a URL for pg, with TLS as postgres.js has it by the same URL: `require` and `prefer` of pg want a
 * certificate that a public authority signed, and its `prefer` takes no server without TLS.
 */
export async function pgConnection(url: string): Promise<PgConnection> {
  const parsed = new URL(url)
  const mode = parsed.searchParams.get('sslmode') ?? parsed.searchParams.get('ssl') ?? 'disable'
  for (const name of ['sslmode', 'ssl']) parsed.searchParams.delete(name)
  const connectionString = parsed.href
  if (['disable', 'false'].includes(mode)) return { connectionString, ssl: false }
  if (mode === 'prefer' && !(await offersTls(parsed))) return { connectionString, ssl: false }
  const trusts = ['require', 'allow', 'prefer'].includes(mode)
  return { connectionString, ssl: trusts ? { rejectUnauthorized: false } : {} }
}

async function offersTls({ hostname, port }: URL): Promise<boolean> {
  const socket = connect(Number(port || 5432), hostname.replace(/^\[|\]$/g, ''))
  socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error(`${hostname} does not answer`)))
  try {
    return await new Promise<boolean>((resolve, reject) => {
      socket.once('data', ([first]) => resolve(first === 'S'.charCodeAt(0)))
      socket.once('error', reject).once('close', () => reject(new Error(`${hostname} closed the connection`)))
      socket.write(TLS_REQUEST)
    })
  } finally {
    socket.destroy()
  }
}
