import { homedir, tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CronExpressionParser } from 'cron-parser'
import { LEVELS, type Level } from './log.ts'

/** The only reader of process.env. Every setting is optional; the README's table is generated from SETTINGS. */
export interface Config {
  port: number
  host: string
  dataDir: string
  lakeDir: string
  /** null: the service starts its own embedded Postgres. */
  databaseUrl: string | null
  /** null: the key in the data folder, made when there is none. */
  secretKey: string | null
  baseUrl: string
  cdpUrl: string
  webhookUrl: string
  storePlatformDomain: string
  logLevel: Level
  /** Five-field cron of the refresh of models and segments. */
  refreshCron: string
  /** Of each DuckDB instance that works on the lake. */
  duckdb: { memoryMb: number; threads: number }
  rateLimits: boolean
  /** Null: replies are not drafted. */
  agent: { url: string; key: string | null; model: string } | null
  /** Reverse proxies in front that append the client's address to X-Forwarded-For. */
  trustedProxies: number
}

interface Setting {
  default: string
  what: string
  check: (value: string) => string | null
}

const integer = (min: number, max: number) => (value: string) =>
  /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max
    ? null
    : `must be an integer from ${min} to ${max}`

const url =
  (...protocols: string[]) =>
  (value: string) =>
    URL.canParse(value) && protocols.includes(new URL(value).protocol)
      ? null
      : `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`

const origin = (value: string) =>
  url('http:', 'https:')(value) ??
  (new URL(value).href === `${new URL(value).origin}/`
    ? null
    : 'must be an origin without a path: scheme, host and port alone')

const inUrl = (host: string) => (host.includes(':') ? `[${host}]` : host)

const address = (value: string) =>
  /^[\w.:-]+$/.test(value) && URL.canParse(`http://${inUrl(value)}`)
    ? null
    : 'must be an IP address or a host name, such as 127.0.0.1'

const oneOf = (values: readonly string[]) => (value: string) =>
  values.includes(value) ? null : `must be one of ${values.join(', ')}`

const matches = (pattern: RegExp, says: string) => (value: string) => (pattern.test(value) ? null : says)

const cron = (value: string) => {
  try {
    if (value.trim().split(/\s+/).length !== 5) throw new Error('not five fields')
    // Such a field is another one whenever it is read.
    if (/\bH/.test(value)) throw new Error('by chance')
    CronExpressionParser.parse(value)
    return null
  } catch {
    return 'must be a cron expression of five fields'
  }
}
const nonEmpty = (value: string) => (value.trim() === '' ? 'must not be empty' : null)

export const SETTINGS: Record<string, Setting> = {
  PORT: { default: '8080', what: 'Port of the HTTP server', check: integer(0, 65535) },
  HOST: { default: '127.0.0.1', what: 'Address that the HTTP server listens on', check: address },
  DATA_DIR: {
    default: '<checkout>/.data',
    what: 'Folder of the embedded Postgres and the lake',
    check: nonEmpty,
  },
  LAKE_DIR: { default: '<DATA_DIR>/lake', what: 'Folder of the Parquet lake', check: nonEmpty },
  DATABASE_URL: {
    default: 'the embedded Postgres',
    what: 'A Postgres (16 or newer) to use instead of the embedded one',
    check: url('postgres:', 'postgresql:'),
  },
  SECRET_KEY: {
    default: '<DATA_DIR>/secret-key, made on first use',
    what: 'Seals the secrets that Postgres holds; the same for all processes',
    check: (value) => (value.length >= 32 ? null : 'must have at least 32 characters'),
  },
  BASE_URL: {
    default: 'http://<HOST>:<PORT>',
    what: 'Public origin of REST and MCP; for HOST 0.0.0.0 or :: by default that of localhost',
    check: origin,
  },
  CDP_URL: {
    default: '<BASE_URL>',
    what: 'Public origin of the customer-data and collection host',
    check: origin,
  },
  WEBHOOK_URL: { default: '<BASE_URL>', what: 'Public origin of the webhook receiver', check: origin },
  STORE_PLATFORM_DOMAIN: {
    default: 'myshopify.com',
    what: 'Domain under which the shops of the store platform live',
    check: matches(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'must be a lower-case domain name'),
  },
  LOG_LEVEL: {
    default: 'info',
    what: 'Least level that is logged; commands but dev, serve and work log warn and error unless it is set',
    check: oneOf(LEVELS),
  },
  REFRESH_CRON: {
    default: '*/15 * * * *',
    what: 'When models and segments are refreshed, in UTC: each brand once an interval, at a minute of its own',
    check: cron,
  },
  DUCKDB_MEMORY_MB: {
    default: '2048',
    what: 'Memory that one refresh, snapshot or merge of files may take; what does not fit goes to the disk. Some run at once',
    check: integer(256, 1_048_576),
  },
  DUCKDB_THREADS: { default: '2', what: 'Threads of each of them', check: integer(1, 256) },
  TRUSTED_PROXIES: {
    default: '0',
    what: 'Reverse proxies in front that append to X-Forwarded-For; they say which address a client has. HTTP/1.0 is answered 505: nginx needs proxy_http_version 1.1',
    check: integer(0, 10),
  },
  AGENT_URL: {
    default: 'none: the campaigns’ own replies are sent',
    what: 'An endpoint that speaks as OpenAI’s does, such as https://…/v1: it drafts what agents answer',
    check: url('http:', 'https:'),
  },
  AGENT_MODEL: { default: 'default', what: 'Model that the endpoint is asked for', check: nonEmpty },
  AGENT_KEY: { default: 'none', what: 'Key of the endpoint', check: nonEmpty },
  RATE_LIMITS: { default: 'on', what: 'off: no rate limits, for benchmarks', check: oneOf(['on', 'off']) },
}

/** Settings whose value is not shown. */
const HIDDEN = ['DATABASE_URL', 'SECRET_KEY', 'AGENT_KEY']

/** All that the lake is made of, with what is under way. */
export const LAKE_FOLDERS = ['brands', 'staging', 'tmp'] as const

export const CHECKOUT = resolve(dirname(fileURLToPath(import.meta.url)), '..')

/** Thrown once for all that is wrong with the environment; each line names one setting. */
export class ConfigError extends Error {}

/** Reads the settings from an environment; throws one ConfigError that names every bad value. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const problems: string[] = []
  for (const name of Object.keys(env)) {
    if (name.startsWith('RECOUP_'))
      problems.push(`${name}: is not a setting of Recoup. Known: ${Object.keys(SETTINGS).join(', ')}`)
  }
  const given = (name: string): string | undefined => {
    const value = env[name]
    if (value === undefined) return undefined
    const problem = SETTINGS[name]?.check(value)
    if (problem) problems.push(`${name}: "${HIDDEN.includes(name) ? '…' : value}" ${problem}`)
    return value
  }
  const path = (value: string) => resolve(value.replace(/^~(?=\/|$)/, homedir()))

  const host = given('HOST') ?? '127.0.0.1'
  const port = Number(given('PORT') ?? 8080)
  const dataDir = path(given('DATA_DIR') ?? join(CHECKOUT, '.data'))
  const shownHost = host === '0.0.0.0' || host === '::' ? 'localhost' : inUrl(host)
  const originOf = (name: string) => {
    const value = given(name)
    return value === undefined || !URL.canParse(value) ? value : new URL(value).origin
  }
  const baseUrl = originOf('BASE_URL') ?? `http://${shownHost}:${port}`
  const agentUrl = given('AGENT_URL') ?? null
  const [agentKey, agentModel] = [given('AGENT_KEY') ?? null, given('AGENT_MODEL') ?? 'default']
  const config: Config = {
    port,
    host,
    dataDir,
    lakeDir: path(given('LAKE_DIR') ?? join(dataDir, 'lake')),
    databaseUrl: given('DATABASE_URL') ?? null,
    secretKey: given('SECRET_KEY') ?? null,
    baseUrl,
    cdpUrl: originOf('CDP_URL') ?? baseUrl,
    webhookUrl: originOf('WEBHOOK_URL') ?? baseUrl,
    storePlatformDomain: given('STORE_PLATFORM_DOMAIN') ?? 'myshopify.com',
    logLevel: (given('LOG_LEVEL') ?? 'info') as Level,
    refreshCron: given('REFRESH_CRON') ?? '*/15 * * * *',
    duckdb: {
      memoryMb: Number(given('DUCKDB_MEMORY_MB') ?? 2048),
      threads: Number(given('DUCKDB_THREADS') ?? 2),
    },
    rateLimits: given('RATE_LIMITS') !== 'off',
    agent: agentUrl === null ? null : { url: agentUrl, key: agentKey, model: agentModel },
    trustedProxies: Number(given('TRUSTED_PROXIES') ?? 0),
  }
  // What the lake does not list in its own folders goes after a day: the embedded cluster and the secret key would, too.
  for (const folder of LAKE_FOLDERS)
    if (!relative(join(config.lakeDir, folder), dataDir).startsWith('..'))
      problems.push(
        `DATA_DIR: "${dataDir}" is within ${join(config.lakeDir, folder)}, which the lake clears up`,
      )
  const scratch = join(config.lakeDir, 'tmp')
  if (['/tmp', '/var/tmp', resolve(tmpdir())].includes(scratch))
    problems.push(
      `LAKE_DIR: the lake would clear up ${scratch}, which all programs use; give it a folder of its own`,
    )
  if (problems.length) throw new ConfigError(problems.join('\n'))
  return config
}
