import type { ConsentChannel } from '../identity/contact.ts'
import type { Sealing, Statements } from '../op.ts'
import type { Adapter, Channel } from './channel.ts'
import { httpChannel } from './channel-http.ts'
import { smtpChannel } from './channel-smtp.ts'

/** What a channel row says; settings by its adapter. */
export interface ChannelRow {
  channel: ConsentChannel
  adapter: Adapter
  settings: Record<string, unknown>
  secret: Buffer | null
  lookup_id: string
  messages_per_second: number
}

/** What is sealed. */
export interface ChannelSecret {
  /** Password or token of the account that sends; null: there is none. */
  password: string | null
  /** Key of the signatures of callbacks. */
  signing: string
}

/** What a secret is sealed for, so that one channel's cannot stand in for another's. */
const channelPlace = (brandId: string, channel: ConsentChannel): string =>
  `the secret of channel ${channel} of ${brandId}`

export const sealedSecret = (
  seal: Pick<Sealing, 'seal'>,
  brandId: string,
  channel: ConsentChannel,
  secret: ChannelSecret,
): Buffer => seal.seal(Buffer.from(JSON.stringify(secret)), channelPlace(brandId, channel))

export const openedSecret = (
  seal: Pick<Sealing, 'open'>,
  brandId: string,
  { channel, secret }: Pick<ChannelRow, 'channel' | 'secret'>,
): ChannelSecret | null =>
  secret && (JSON.parse(seal.open(secret, channelPlace(brandId, channel)).toString()) as ChannelSecret)

export const channelRow = (
  db: Pick<Statements, 'maybe'>,
  channel: ConsentChannel,
): Promise<ChannelRow | undefined> => db.maybe<ChannelRow>('message_channel_of', [channel])

type Way = Pick<ChannelRow, 'adapter' | 'settings'>

/** Whether the password of one is meant for the other: of a gateway at the same origin, or a user of the same mail server. */
export function isSameAccount(one: Way, other: Way): boolean {
  if (one.adapter !== other.adapter) return false
  switch (one.adapter) {
    case 'outbox':
      return false
    case 'http_sms':
      return originOf(one) === originOf(other)
    case 'smtp':
      return one.settings.host === other.settings.host && one.settings.user === other.settings.user
  }
}

const originOf = ({ settings }: Way) => new URL(String(settings.url)).origin

/** How messages of a channel leave; null: they stay in the embedded outbox. */
export function channelOfRow(
  row: ChannelRow | undefined,
  seal: Pick<Sealing, 'open'>,
  brandId: string,
): Channel | null {
  if (!row || row.adapter === 'outbox') return null
  const secret = openedSecret(seal, brandId, row)
  const text = (name: string) => (typeof row.settings[name] === 'string' ? row.settings[name] : null)
  switch (row.adapter) {
    case 'http_sms':
      return httpChannel({ url: text('url') ?? '', from: text('from') }, secret?.password ?? null)
    case 'smtp':
      return smtpChannel(
        {
          host: text('host') ?? '',
          port: Number(row.settings.port),
          secure: row.settings.secure === true,
          requireTls: row.settings.require_tls === true,
          allowPlain: row.settings.allow_plain === true,
          user: text('user'),
          from: text('from') ?? '',
        },
        secret?.password ?? null,
      )
  }
}
