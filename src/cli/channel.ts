import { randomBytes } from 'node:crypto'
import { serviceSeal } from '../access/service-seal.ts'
import { ADAPTERS, type Adapter } from '../campaign/channel.ts'
import {
  type ChannelRow,
  type ChannelSecret,
  channelRow,
  isSameAccount,
  openedSecret,
  sealedSecret,
} from '../campaign/channel-settings.ts'
import { needsTls } from '../campaign/channel-smtp.ts'
import { isThisMachine } from '../connect/this-machine.ts'
import type { ConsentChannel } from '../identity/contact.ts'
import {
  choiceOption,
  command,
  fileOption,
  integerOption,
  type Run,
  required,
  text,
  UsageError,
} from './command.ts'
import { brand, ofBrand } from './of-brand.ts'
import { table } from './table.ts'

const channel = { type: 'string', required: true, placeholder: 'CHANNEL', what: 'sms or email' } as const

const CHANNELS = ['sms', 'email'] as const
/** What can carry messages of a channel. */
const CARRIES: Readonly<Record<ConsentChannel, readonly Adapter[]>> = {
  sms: ['outbox', 'http_sms'],
  email: ['outbox', 'smtp'],
}
const RATE = 10

function adapterNamed(values: Run['values'], of: ConsentChannel): Adapter {
  const given = required(values, 'adapter')
  const found = ADAPTERS.find((one) => one === given)
  if (!found || !CARRIES[of].includes(found))
    throw new UsageError(`--adapter: ${of} can have ${CARRIES[of].join(' or ')}, not "${given}"`)
  return found
}

/** Which options an adapter takes; another one's would be lost in silence. */
const TAKES: Readonly<Record<Adapter, readonly string[]>> = {
  outbox: ['rate'],
  http_sms: ['rate', 'url', 'from', 'secret-file'],
  smtp: ['rate', 'host', 'port', 'tls', 'require-tls', 'allow-plain', 'user', 'from', 'secret-file'],
}

function refuseOthers(adapter: Adapter, values: Run['values']): void {
  const known = Object.values(TAKES).flat()
  const other = Object.keys(values).find((name) => known.includes(name) && !TAKES[adapter].includes(name))
  if (other) throw new UsageError(`--${other}: is no setting of ${adapter}. See recoup channel set --help`)
}

/** What each adapter asks for. */
function settingsOf(adapter: Adapter, values: Run['values']): Record<string, unknown> {
  const web = (name: string) => {
    const given = required(values, name)
    const url = URL.parse(given)
    const isLocal = url !== null && isThisMachine(url.hostname)
    if (url?.username || url?.password)
      throw new UsageError(`--${name} must be an address without a user name: the secret is for that`)
    if (url?.protocol === 'https:' || (isLocal && url.protocol === 'http:')) return given
    throw new UsageError(`--${name} must be an address that begins with https://, not "${given}"`)
  }
  switch (adapter) {
    case 'outbox':
      return {}
    case 'http_sms':
      return { url: web('url'), from: text(values, 'from') ?? null }
    case 'smtp': {
      const secure = values.tls === true
      const host = required(values, 'host')
      const user = text(values, 'user') ?? null
      const allowPlain = allowsPlain(values)
      return {
        host,
        port: integerOption(values, 'port', secure ? 465 : 587, 1, 65_535),
        secure,
        require_tls: values['require-tls'] === true || needsTls({ host, user, allowPlain }),
        allow_plain: allowPlain,
        user,
        from: senderOf(values),
      }
    }
  }
}

function allowsPlain(values: Run['values']): boolean {
  const other = ['tls', 'require-tls'].find((name) => values[name] === true)
  if (values['allow-plain'] === true && other)
    throw new UsageError(`--allow-plain: cannot be given with --${other}`)
  return values['allow-plain'] === true
}

/** An address, alone or behind a name: a mail server refuses every message of anything else. */
function senderOf(values: Run['values']): string {
  const from = required(values, 'from')
  if (/^([^<>\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(from)) return from
  throw new UsageError(
    `--from must be an email address, or a name with one such as 'Shop <hello@shop.example>', not "${from}"`,
  )
}

const callbackUrl = (origin: string, lookupId: string) => `${origin}/gateway/${lookupId}`

const shown = ({ secret: _, lookup_id, ...row }: ChannelRow, origin: string) => ({
  ...row,
  callback_url: row.adapter === 'http_sms' ? callbackUrl(origin, lookup_id) : null,
})

export const channelCommands = [
  command({
    name: 'channel set',
    what: 'Say how a brand’s messages leave; what a gateway signs its callbacks with is shown this once',
    options: {
      brand,
      channel,
      adapter: {
        type: 'string',
        required: true,
        placeholder: 'ADAPTER',
        what: 'outbox: they stay here; smtp: a mail server; http_sms: an SMS gateway',
      },
      url: { type: 'string', placeholder: 'URL', what: 'http_sms: where messages are posted' },
      host: { type: 'string', placeholder: 'HOST', what: 'smtp: the mail server' },
      port: { type: 'string', placeholder: 'N', what: 'smtp: its port (default: 587, with --tls 465)' },
      tls: { type: 'boolean', what: 'smtp: TLS from the first byte on' },
      'require-tls': {
        type: 'boolean',
        what: 'smtp: refuse a server that offers no TLS (default with --user, unless it is on this machine)',
      },
      'allow-plain': { type: 'boolean', what: 'smtp: tell the password also to a server that offers no TLS' },
      user: { type: 'string', placeholder: 'NAME', what: 'smtp: account' },
      from: { type: 'string', placeholder: 'FROM', what: 'Address, number or name that messages come from' },
      'secret-file': {
        type: 'string',
        placeholder: 'FILE',
        what: 'File with the password or token of the account (default: the one of before, for the same account); - reads standard input',
      },
      rate: { type: 'string', placeholder: 'N', what: `Messages per second (default: ${RATE})` },
    },
    run: async (run) => {
      const { config, values } = run
      const { app, brand: found, db } = await ofBrand(run)
      const of = choiceOption(values, 'channel', CHANNELS)
      const adapter = adapterNamed(values, of)
      refuseOthers(adapter, values)
      const settings = settingsOf(adapter, values)
      const rate = integerOption(values, 'rate', RATE, 1, 1_000)
      const seal = await serviceSeal(app)
      const before = await channelRow(db, of)
      const known = before ? openedSecret(seal, found.id, before) : null
      const given = await secretOf(values)
      const isKept = before !== undefined && isSameAccount(before, { adapter, settings })
      const password = given ?? (isKept ? (known?.password ?? null) : null)
      const isDropped = password === null && known !== null && known.password !== null
      if (isDropped && settings.user)
        throw new UsageError('--secret-file is missing: the password that is kept is of another account')
      const signing = known?.signing ?? signingSecret()
      const secret: ChannelSecret | null = known || adapter !== 'outbox' ? { password, signing } : null
      const lookupId = before?.lookup_id ?? randomBytes(16).toString('base64url')
      await db.tx(async (tx) => {
        await tx.run('message_channel_put', [
          ...[of, adapter, JSON.stringify(settings)],
          ...[secret && sealedSecret(seal, found.id, of, secret), lookupId, rate],
        ])
        if (before && !isKept) await tx.run('messages_left_behind', [of])
      })
      const row = await channelRow(db, of)
      if (!row) throw new Error('the channel is gone')
      const isNew = known === null && adapter === 'http_sms'
      return {
        ...shown(row, config.webhookUrl),
        password_dropped: isDropped,
        ...(isNew && { signing_secret: signing }),
      }
    },
    text: (set: ReturnType<typeof shown> & { password_dropped: boolean; signing_secret?: string }) => {
      const dropped = set.password_dropped
        ? '\nThe password or token of before was of another account and is forgotten: none is set'
        : ''
      const head = `Messages by ${set.channel} leave over ${set.adapter}${dropped}`
      if (set.callback_url === null) return head
      const callback = `${head}\ncallback URL    ${set.callback_url}`
      if (!set.signing_secret) return callback
      return `${callback}\nsigning secret  ${set.signing_secret}\n\nKeep the secret now: it is not shown again.`
    },
  }),
  command({
    name: 'channel rotate-secret',
    what: 'Replace what a gateway signs its callbacks with; the callback URL stays',
    options: { brand, channel },
    run: async (run) => {
      const { app, brand: found, db } = await ofBrand(run)
      const of = choiceOption(run.values, 'channel', CHANNELS)
      const row = await channelRow(db, of)
      const seal = await serviceSeal(app)
      const known = row && openedSecret(seal, found.id, row)
      if (!known || row.adapter !== 'http_sms')
        throw new UsageError(`--channel: messages by ${of} leave over no gateway. See recoup channel list`)
      const signing = signingSecret()
      await db.run('message_channel_seal', [of, sealedSecret(seal, found.id, of, { ...known, signing })])
      return { ...shown(row, run.config.webhookUrl), signing_secret: signing }
    },
    text: ({ channel, callback_url, signing_secret }) =>
      `${signing_secret}\n\nThe secret that callbacks to ${callback_url} are signed with, for ${channel}. Keep it now: it is not shown again, and the one before is refused.`,
  }),
  command({
    name: 'channel list',
    what: 'List how a brand’s messages leave',
    options: { brand },
    run: async (run) => {
      const { db } = await ofBrand(run)
      const rows = await db.many<ChannelRow>('message_channels')
      return { data: rows.map((row) => shown(row, run.config.webhookUrl)) }
    },
    text: ({ data }) =>
      table(
        ['channel', 'adapter', 'per second', 'settings', 'callback_url'],
        data.map((one) => [
          one.channel,
          one.adapter,
          String(one.messages_per_second),
          JSON.stringify(one.settings),
          one.callback_url,
        ]),
      ),
  }),
]

const signingSecret = () => `whsec_${randomBytes(32).toString('base64url')}`

/** Not an argument: those are seen by everybody on the machine. */
async function secretOf(values: Run['values']): Promise<string | null> {
  if (values['secret-file'] === undefined) return null
  const secret = (await fileOption(values, 'secret-file')).trim()
  if (secret === '') throw new UsageError('--secret-file is empty')
  return secret
}
