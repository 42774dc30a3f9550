import { Readable } from 'node:stream'
import { isThisMachine } from '../connect/this-machine.ts'
import type { Channel, Parcel, Sent } from './channel.ts'

/** Settings of a mail server. */
export interface MailSettings {
  host: string
  port: number
  /** TLS from the first byte on; else it is begun when the server offers it. */
  secure: boolean
  /** Refuses a server that offers no TLS. */
  requireTls: boolean
  /** The password of the account may be told without TLS. */
  allowPlain: boolean
  user: string | null
  /** Address, or `Name <address>`. */
  from: string
}

/** Else whoever stands between, and leaves TLS out of what the server offers, is told the password. */
export const needsTls = ({ host, user, allowPlain }: Pick<MailSettings, 'host' | 'user' | 'allowPlain'>) =>
  user !== null && !allowPlain && !isThisMachine(host)

/** So long the server may say nothing. */
const TIMEOUT_MS = 30_000
/** So long a delivery takes at most, whatever the server says. */
const LONGEST_MS = 60_000

/**
 * A mail server. It takes a message that is sent again for another one: once the text of a message is on its way, only
 * the server's own word says whether it has it.
 */
export function smtpChannel(
  settings: MailSettings,
  password: string | null,
  timeoutMs = TIMEOUT_MS,
  longestMs = LONGEST_MS,
): Channel {
  return {
    takesOnce: 'never_again',
    send: (parcel, signal) => deliver(parcel, settings, { password, timeoutMs, longestMs, signal }),
  }
}

interface Delivery {
  password: string | null
  timeoutMs: number
  longestMs: number
  signal: AbortSignal | undefined
}

/** Of lists, groups, names and comments: `x,victim@example.com` would be sent to the victim. */
const SYNTAX = /[\s,;:<>()[\]\\"]/

async function deliver(parcel: Parcel, settings: MailSettings, delivery: Delivery): Promise<Sent> {
  const { password, timeoutMs, longestMs, signal } = delivery
  if (SYNTAX.test(parcel.to))
    return { is: 'refused', error: 'The address has characters that mail gives a meaning.' }
  const mail = await composed(parcel, settings.from)
  // Not before a brand has a mail server.
  const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection/index.js')
  const connection = new SMTPConnection({
    host: settings.host,
    port: settings.port,
    secure: settings.secure,
    // Settings that were made before say nothing of passwords.
    requireTLS: settings.requireTls || needsTls(settings),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  })
  const { promise: broken, reject } = Promise.withResolvers<never>()
  broken.catch(() => {})
  connection.once('error', reject)
  const late = setTimeout(() => {
    reject(new Error('The mail server took too long.'))
    connection.close()
  }, longestMs)
  connection.once('end', () => {
    clearTimeout(late)
    reject(new Error('The connection was closed.'))
    // A closed connection still waits for the server to end its half of it.
    if (connection._socket) connection._socket.destroy()
  })
  const stop = () => connection.close()
  signal?.addEventListener('abort', stop)
  // The text is read once the server has said that it may come.
  let isUnderWay = false
  const text = Readable.from(
    (function* () {
      isUnderWay = true
      yield mail.bytes
    })(),
  )
  const said = <T>(ask: (callback: (error?: Error | null, answer?: T) => void) => void): Promise<T> =>
    Promise.race([
      broken,
      new Promise<T>((resolve, fail) => ask((error, answer) => (error ? fail(error) : resolve(answer as T)))),
    ])
  try {
    await said((callback) => connection.connect((error) => callback(error)))
    const { user } = settings
    if (user !== null)
      await said((callback) =>
        connection.login({ credentials: { user, pass: password ?? '' } }, (error) => callback(error)),
      )
    await said((callback) => connection.send(mail.envelope, text, callback))
    connection.quit()
    return { is: 'sent', providerMessageId: mail.messageId }
  } catch (error) {
    connection.close()
    return refusedBy(error, isUnderWay)
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

/** What the server's own word is about when it refuses an address or the text. */
const ABOUT_MESSAGE = ['EENVELOPE', 'EMESSAGE']

/** 4xx may pass and 5xx will not; what failed without an answer before the text was on its way did not arrive. */
function refusedBy(given: unknown, isUnderWay: boolean): Sent {
  const error = given instanceof Error ? given.message : String(given)
  const { responseCode = 0, code = '' } = given as { responseCode?: number; code?: string }
  const isAnswer = ABOUT_MESSAGE.includes(code) && responseCode >= 400
  if (isAnswer && responseCode >= 500) return { is: 'refused', error }
  return isUnderWay && !isAnswer
    ? { is: 'unknown', error }
    : { is: 'later', error, unanswered: responseCode === 0 }
}

async function composed({ id, to, headline, body, optOutUrl }: Parcel, from: string) {
  const domain = /@([^\s>]+)>?$/.exec(from)?.[1] ?? 'localhost'
  const messageId = `<${id}@${domain}>`
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer/index.js')
  const mail = new MailComposer({
    from,
    to: [{ name: '', address: to }],
    subject: headline ?? '',
    text: body,
    messageId,
    // Mail programs show a button for it (RFC 8058).
    ...(optOutUrl !== null && {
      headers: {
        'List-Unsubscribe': `<${optOutUrl}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      },
    }),
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile()
  return { messageId, envelope: mail.getEnvelope(), bytes: await mail.build() }
}
