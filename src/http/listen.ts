import { createServer, type ListenOptions, type Server } from 'node:net'

const REASONS: Record<string, string> = {
  EADDRINUSE: 'it is in use by another program',
  EACCES: 'this user may not listen there (ports below 1024 need privileges)',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'that host name is unknown',
}

/** Fails with the reason why nothing can listen there. */
export async function portIsFree(host: string, port: number): Promise<void> {
  const probe = await listening({ host, port, exclusive: true }).catch((error: unknown) => {
    throw cannotListen(host, port, error)
  })
  await new Promise((resolve) => probe.close(resolve))
}

/** A path on Unix has room for so many bytes. */
const NAME_LENGTH = 100

/**
 * Takes the port for the servers of this process' children until it is let go, and fails when another has it. They
 * share it (SO_REUSEPORT), so the kernel would let the servers of a second command in, too, which began in the same
 * moment. What both look at is a name in the kernel, which ends with the process and counts where the port counts.
 */
export async function holdPort(host: string, port: number): Promise<() => void> {
  if (process.platform !== 'linux') {
    await portIsFree(host, port)
    return () => {}
  }
  const name = `\0recoup port ${port} of ${host}`.slice(0, NAME_LENGTH)
  const held = await listening({ path: name }).catch((error: unknown) => {
    throw cannotListen(host, port, error)
  })
  held.on('connection', (socket) => socket.destroy())
  held.unref()
  const letGo = () => void held.close()
  await portIsFree(host, port).catch((error: unknown) => {
    letGo()
    throw error
  })
  return letGo
}

function listening(options: ListenOptions): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(options, () => resolve(server))
  })
}

export function cannotListen(host: string, port: number, cause: unknown): Error {
  const code = cause instanceof Error ? String((cause as NodeJS.ErrnoException).code) : ''
  const reason = REASONS[code] ?? (code || String(cause))
  const other = port + (port < 65_535 ? 1 : -1)
  const advice = code === 'EADDRINUSE' ? `. Set PORT to another one, such as PORT=${other}` : ''
  return new Error(`cannot listen on ${host} port ${port}: ${reason}${advice}`, { cause })
}
