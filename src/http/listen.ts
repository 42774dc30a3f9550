import { createServer } from 'node:net'

const REASONS: Record<string, string> = {
  EADDRINUSE: 'it is in use by another program',
  EACCES: 'this user may not listen there (ports below 1024 need privileges)',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'that host name is unknown',
}

/**
 * Fails with a clear error when the port is taken. The engine listens with SO_REUSEPORT: without this look, a
 * second process would silently take over half of the requests.
 */
export function portIsFree(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(host, port, error)))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()))
  })
}

export function cannotListen(host: string, port: number, cause: unknown): Error {
  const code = cause instanceof Error ? String((cause as NodeJS.ErrnoException).code) : ''
  return new Error(`cannot listen on ${host} port ${port}: ${REASONS[code] ?? (code || String(cause))}`, {
    cause,
  })
}
