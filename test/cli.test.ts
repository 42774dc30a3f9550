import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createKey } from '../src/access/key.ts'
import { openApp } from '../src/app.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { commandHelp } from '../src/cli/help.ts'
import { main } from '../src/cli/main.ts'
import { prompt } from '../src/cli/sql.ts'
import { CHECKOUT, readConfig } from '../src/config.ts'
import type { Brand } from '../src/op.ts'
import { openReading } from '../src/segment/reading.ts'
import { brandFolder } from '../src/store/lake.ts'
import { serverProcess } from './fixtures/child.ts'
import { clusterFolder } from './fixtures/cluster.ts'
import { type Database, database } from './fixtures/database.ts'
import { eventually } from './fixtures/eventually.ts'
import { type Ran, recoup, startRecoup, type Where } from './fixtures/recoup.ts'

const folder = mkdtempSync(join(tmpdir(), 'recoup-cli-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const everyone = { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 1 } }

/**
 * A command in this process, which is much faster. That bin/recoup hands on arguments, environment, input, output and
 * exit code is seen of some, and that it ends by itself of those that leave most open.
 */
async function inProcess(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const said = { stdout: '', stderr: '' }
  const out = (text: string) => {
    said.stdout += text
  }
  const err = (text: string) => {
    said.stderr += text
  }
  const code = await main(args, { env, out, err })
  return { code, signal: null, ...said }
}

/** A database, a data folder, and the commands that use them. */
async function service(t: Test) {
  const db = await database(t)
  const dataDir = mkdtempSync(join(tmpdir(), 'recoup-cli-data-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const env = { DATABASE_URL: db.url, DATA_DIR: dataDir }
  return {
    ...db,
    env,
    run: (args: string[], where: Where = {}) => recoup(args, { env, ...where }),
    here: (args: string[]) => inProcess(args, env),
  }
}

/** What a command says beside its result when it takes over two seconds. */
const PROGRESS = /^(.+: \d+ % \(\d+ of \d+\)\n)*$/

/** What a command with --json printed: one document, and nothing beside it but its progress. */
function document(t: Test, ran: Ran) {
  t.match(ran, { code: 0, stderr: PROGRESS })
  const value = JSON.parse(ran.stdout)
  t.equal(ran.stdout, `${JSON.stringify(value, null, 2)}\n`, 'one document')
  return value
}

t.test('--help', async (t) => {
  await t.test('names every argument and option of a command, and which are required', async (t) => {
    for (const command of COMMANDS) {
      const text = commandHelp(command)
      const words = [command.name, ...(command.arguments ?? [])].join(' ')
      t.ok(text.startsWith(`Usage: recoup ${words} [options]`))
      t.match(words, /^[a-z -]+( [A-Z]+)*( \[[A-Z]+\])*( \[[A-Z]+…\])?$/)
      for (const [name, { required }] of Object.entries(command.options))
        t.match(text, new RegExp(`--${name} .*${required ? '\\(required\\)' : ''}`))
    }
  })

  await t.test('is answered anywhere on stdout with exit code 0, whatever the environment', async (t) => {
    const env = { PORT: 'x' }
    const help = async (...args: string[]) => {
      const ran = await inProcess(args, env)
      t.match(ran, { code: 0, stderr: '' })
      return ran.stdout
    }
    const all = await help('--help')
    for (const { name } of COMMANDS) {
      t.ok(all.includes(`\n  ${name}`), name)
      t.match(await help(...name.split(' '), '--help'), `Usage: recoup ${name}`)
    }
    t.match(all, /^ {2}work {2,30}Run the workers/m)
    t.equal(await help(), all)
    t.equal(await help('-h'), all)
    t.match(await help('status', '-h'), 'Usage: recoup status')
    t.match(await help('segment', 'create', '--name', 'x', '--help'), 'Usage: recoup segment create')
    const group = await help('segment', '--help')
    t.match(
      group,
      /^Usage: recoup segment COMMAND .*\n\n {2}segment create .*\n.*segment list .*\n.*segment members/,
    )
    t.notMatch(group, /brand create|Settings come from/)
    t.match(await help('demo', '--help'), /^Usage: recoup demo \[.*\nSee also:\n {2}demo store /s)
    t.equal(await help('help'), all)
    t.equal(await help('--help', 'sql'), all, 'nothing is run of what stands behind it')
    t.match(await recoup(['--help'], { env }), { code: 0, stderr: '', stdout: all })
  })
})

t.test('a mistake is told on stderr with exit code 1, and nothing is on stdout', async (t) => {
  const brand = ['--brand', 'x']
  const notJson = file('not.json', '{"source": }')
  const mistakes: [string[], string | RegExp][] = [
    [['brnd'], '"brnd" is not a command. Did you mean "brand"? See recoup --help'],
    [
      ['segment', 'make'],
      /^recoup: "segment make" is not a command\. Known: segment create, segment list, segment members/,
    ],
    [['help', 'brnd'], '"brnd" is not a command. Did you mean "brand"? See recoup --help'],
    [['brnd', '--help'], '"brnd" is not a command. Did you mean "brand"? See recoup --help'],
    [['help', 'segment', 'make'], /^recoup: "segment make" is not a command\. Known: segment create/],
    [['--json', 'status'], '--json needs a command before it. See recoup --help'],
    [['status', '--all'], "Unknown option '--all'. See recoup status --help"],
    [['status', 'now'], "Unexpected argument 'now'. See recoup status --help"],
    [['brand', 'create', '--name', 'x'], '--shop is missing. See recoup brand create --help'],
    [
      ['key', 'create', '--brand'],
      /^recoup: Option '--brand <value>' argument missing\. See recoup key create/,
    ],
    [['import', 'order', 'x.csv', ...brand], /KIND must be one of orders, .*, events, not "order"/],
    [['import', 'orders', ...brand], 'FILE is missing. See recoup import --help'],
    [['demo', ...brand, '--customers', '0'], '--customers must be an integer from 1 to 10000000, not "0"'],
    [['serve', '--processes', '2', '--one-of', '2'], /^recoup: --processes and --one-of exclude each other/],
    [['demo', ...brand, '--days', '-5'], '--days must be an integer from 1 to 3650, not "-5"'],
    [
      ['demo', '--brand', '--days', '5'],
      '--brand needs a value; one that begins with - is written --brand=-…. See recoup demo --help',
    ],
    [
      ['demo', 'store', ...brand, '--abandoned-after', '4'],
      '--abandoned-after must be an integer from 5 to 10080, not "4"',
    ],
    [['merge', 'undo', 'a', 'b', ...brand], "Unexpected argument 'b'. See recoup merge undo --help"],
    [['merge', 'undo', 'a', ...brand], '"a" is not the id of a merge: recoup merge list shows it'],
    [
      ['store', 'data-request', 'a', ...brand],
      '"a" is not the id of a request: recoup store data-requests shows it',
    ],
    ...[[], ['a', '--all']].map((given): [string[], string] => [
      ['dead-letter', 'replay', ...given, ...brand],
      'Either an ID or --all is needed. See recoup dead-letter replay --help',
    ]),
    [
      ['store', 'connect', ...brand, '--credentials', 'x', '--api-origin', 'admin.example/api'],
      '--api-origin must be an origin such as https://my-shop.myshopify.com, without a path, not "admin.example/api"',
    ],
    [
      ['store', 'connect', ...brand, '--credentials', 'x', '--api-origin', 'http://admin.example'],
      '--api-origin must begin with https://, not "http://admin.example": the access token would go over the network for all to read',
    ],
    [
      ['segment', 'create', ...brand, '--name', 'x', '--definition', join(folder, 'none.json')],
      /none\.json: cannot be read: ENOENT/,
    ],
    [
      ['segment', 'create', ...brand, '--name', 'x', '--definition', notJson],
      /not\.json: is not valid JSON: Unexpected token '}'/,
    ],
  ]
  for (const [args, said] of mistakes) {
    const { stderr, ...rest } = await inProcess(args)
    t.match(rest, { code: 1, stdout: '' }, args.join(' '))
    t.match(stderr, typeof said === 'string' ? `recoup: ${said}\n` : said)
    t.equal(stderr.split('\n').length, 2, 'one line')
  }
  const [[args] = [[]]] = mistakes
  t.match(await recoup(args), await inProcess(args))
})

t.test('a Postgres that goes away under a command is named as such', async (t) => {
  const out = () => {
    throw Object.assign(new Error('write CONNECTION_CLOSED'), { code: 'CONNECTION_CLOSED' })
  }
  let said = ''
  t.equal(await main(['--version'], { env: {}, out, err: (text) => (said += text) }), 1)
  t.match(said, /^recoup: Postgres went away .*CONNECTION_CLOSED\)\. Run it again once it answers\n$/)
})

t.test('a Postgres that takes no writes is named as such', async (t) => {
  const out = () => {
    throw Object.assign(new Error('cannot execute INSERT in a read-only transaction'), { code: '25006' })
  }
  let said = ''
  t.equal(await main(['--version'], { env: {}, out, err: (text) => (said += text) }), 1)
  t.match(
    said,
    /^recoup: Postgres takes no writes \(cannot execute INSERT .*\): it is a standby, or default_trans/,
  )
})

t.test('a data folder that cannot be looked at is not one without a service', async (t) => {
  const folder = t.testdir({})
  symlinkSync('postgres.json', join(folder, 'postgres.json'))
  let said = ''
  const args = { env: { DATA_DIR: folder }, out() {}, err: (text: string) => (said += text) }
  t.equal(await main(['brand', 'list'], args), 1)
  t.match(said, /postgres\.json cannot be read/)
})

t.test('a disk that is full is named as such', async (t) => {
  const full = () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  }
  let said = ''
  const err = (text: string) => {
    said += text
  }
  t.equal(await main(['--version'], { env: {}, out: full, err }), 1)
  t.match(said, /^recoup: ENOSPC: .* is full: free some space, then run it again\n$/)
  const { status, stderr } = spawnSync('sh', ['-c', `${join(CHECKOUT, 'bin/recoup')} --version > /dev/full`])
  t.match(
    { status, stderr: `${stderr}` },
    { status: 1, stderr: /^recoup: the output cannot be written: ENOSPC.*\n$/ },
  )
})

t.test('the environment', async (t) => {
  await t.test('is refused once, with every bad value and unknown name', async (t) => {
    const bad = {
      PORT: '70000',
      HOST: ' ',
      DATA_DIR: '',
      DATABASE_URL: 'mysql://root:secret@db/x',
      BASE_URL: 'https://example.com/path',
      STORE_PLATFORM_DOMAIN: 'Shops',
      LOG_LEVEL: 'loud',
      REFRESH_CRON: '61 * * * *',
      DUCKDB_MEMORY_MB: '2GB',
      DUCKDB_THREADS: '0',
    }
    const { code, stdout, stderr } = await recoup(['status'], {
      env: { ...bad, RECOUP_PORT: '1', RECOUP_TYPO: '' },
    })
    t.match({ code, stdout }, { code: 1, stdout: '' })
    t.notMatch(stderr, /secret/)
    const lines = stderr.trimEnd().split('\n')
    t.equal(lines[0], 'recoup: The environment is wrong:')
    t.same(
      lines
        .slice(1)
        .map((line) => line.split(':')[0])
        .sort(),
      [...Object.keys(bad), 'RECOUP_PORT', 'RECOUP_TYPO'].sort(),
    )
  })

  await t.test('may be empty', async (t) => {
    t.match(readConfig({}), { port: 8080, host: '127.0.0.1', databaseUrl: null, lakeDir: /lake$/ })
  })

  await t.test('takes no REFRESH_CRON that is another each time', async (t) => {
    for (const REFRESH_CRON of ['H * * * *', 'H/15 * * * *', '0 H(1-5) * * *'])
      t.throws(() => readConfig({ REFRESH_CRON }), { message: /^REFRESH_CRON: / }, REFRESH_CRON)
    t.equal(readConfig({ REFRESH_CRON: '0 0 * * THU' }).refreshCron, '0 0 * * THU')
  })

  await t.test('has dev at a port that it can tell', async (t) => {
    const run = startRecoup(['dev', '--no-demo'], {
      env: { DATABASE_URL: 'postgres://localhost:1/none', DATA_DIR: folder, PORT: '0' },
    })
    t.match(await run.ended, { code: 1, stderr: /^recoup: dev needs a PORT of its own: / })
  })

  await t.test('takes as HOST what can be listened on, and as an origin nothing but that', async (t) => {
    for (const HOST of ['256.1.1.1', 'http://x', '127.0.0.1 ', '[::1]', '127.0.0.1:80'])
      t.throws(
        () => readConfig({ HOST }),
        { message: /^HOST: .* must be an IP address or a host name/ },
        HOST,
      )
    for (const HOST of ['0.0.0.0', '::', '::1', 'localhost', 'my_host.internal'])
      t.match(readConfig({ HOST }), { host: HOST })
    for (const setting of ['BASE_URL', 'CDP_URL', 'WEBHOOK_URL'])
      for (const value of ['http://x?a=1', 'http://x/#a', 'http://me:secret@x', 'http://x/v1'])
        t.throws(() => readConfig({ [setting]: value }), {
          message: `${setting}: "${value}" must be an origin`,
        })
    t.match(readConfig({ BASE_URL: 'HTTPS://Api.Example.com:443/' }), { baseUrl: 'https://api.example.com' })
  })

  await t.test('with a file where a folder belongs is refused before anything is made', async (t) => {
    const inTheWay = file('in-the-way', '')
    const DATA_DIR = join(folder, 'not-made')
    for (const [setting, env] of [
      ['DATA_DIR', { DATA_DIR: inTheWay }],
      ['DATA_DIR', { DATA_DIR: join(inTheWay, 'data') }],
      ['LAKE_DIR', { DATA_DIR, LAKE_DIR: inTheWay }],
    ] as const)
      t.match(await inProcess(['migrate'], env), {
        code: 1,
        stdout: '',
        stderr: `recoup: ${setting}: ${inTheWay} is a file, where a folder is needed.\n`,
      })
    t.notOk(existsSync(join(DATA_DIR, 'postgres')))
  })

  await t.test('with a port that is taken ends serve before anything is made', async (t) => {
    const other = createServer().listen(0, '127.0.0.1')
    t.teardown(() => other.close())
    await once(other, 'listening')
    const DATA_DIR = join(folder, 'never-served')
    t.match(await inProcess(['serve'], { DATA_DIR, PORT: `${(other.address() as AddressInfo).port}` }), {
      code: 1,
      stdout: '',
      stderr: /^recoup: cannot listen on .* in use by another program\. Set PORT to another one/,
    })
    t.notOk(existsSync(DATA_DIR))
  })

  await t.test('keep the data of the service out of what the lake clears up', async (t) => {
    for (const DATA_DIR of ['/lake/tmp', '/lake/brands/one', '/lake/staging'])
      t.throws(() => readConfig({ DATA_DIR, LAKE_DIR: '/lake' }), { message: /^DATA_DIR: .* clears up/ })
    for (const LAKE_DIR of ['/', '/var', dirname(tmpdir())])
      t.throws(() => readConfig({ DATA_DIR: '/srv/data', LAKE_DIR }), { message: /^LAKE_DIR: .* of its own/ })
    for (const LAKE_DIR of ['/srv', '/srv/data', '/srv/data/parquet'])
      t.match(readConfig({ DATA_DIR: '/srv/data', LAKE_DIR }), { lakeDir: LAKE_DIR })
  })

  await t.test('with a Postgres that does not answer is refused without the password', async (t) => {
    const env = { DATABASE_URL: 'postgres://me:secret@127.0.0.1:1/shop', DATA_DIR: join(folder, 'data') }
    const { code, stdout, stderr } = await inProcess(['status'], env)
    t.match({ code, stdout }, { code: 1, stdout: '' })
    t.match(stderr, /^recoup: Postgres at 127\.0\.0\.1:1\/shop cannot be used: .*ECONNREFUSED.*\n$/)
    t.notMatch(stderr, /secret/)
  })
})

t.test('recoup demo fills an empty brand; the same again changes nothing', async (t) => {
  const { here, postgres } = await service(t)
  const brand = (shop: string) => here(['brand', 'create', '--name', 'Shop', '--shop', shop, '--json'])
  const demo = (shop: string, ...more: string[]) =>
    here(['demo', '--brand', shop, '--customers', '20', '--days', '30', '--json', ...more])
  const rows = async () =>
    await postgres.sql`
      select (select sum(event_count) from event_log) as events, (select count(*) from store_order) as orders,
        (select count(*) from customer) as customers, (select count(*) from checkout) as checkouts`
  document(t, await brand('full'))
  const filled = document(t, await demo('full'))
  const [first] = await rows()
  t.match(first, { events: String(filled.generated.events), orders: String(filled.generated.orders) })
  t.same(document(t, await demo('full')), filled)
  t.same(await rows(), [first])

  const refused = (said: RegExp) => ({ code: 1, stdout: '', stderr: said })
  t.match(await demo('full', '--seed', '2'), refused(/has a demo store of 20 customers, 30 days and seed 1/))
  document(t, await brand('own'))
  const orders = file('own.csv', 'external_id,created_at,total\n1,2026-01-01,10.00\n')
  document(t, await here(['import', 'orders', orders, '--brand', 'own', '--json']))
  t.match(await demo('own'), refused(/^recoup: The brand has customers, orders or products/))
})

t.test('from an empty service to members', async (t) => {
  const { run, here, postgres, env } = await service(t)
  const definition = file('segment.json', JSON.stringify(everyone))
  const orders = file(
    'orders.csv',
    `external_id,created_at,total,customer_external_id,email,phone
1,2026-01-01,10.00,ann,ann@example.com,+12025550177
2,2026-01-02,ten,bob,bob@example.com,
3,2026-02-30,10.00,bob,bob@example.com,
4,2026-01-04,20.50,cleo,,
`,
  )
  const link = join(folder, 'recoup')
  symlinkSync(join(CHECKOUT, 'bin/recoup'), link)

  await t.test('brand create, from another folder through a symbolic link', async (t) => {
    const args = ['brand', 'create', '--name', 'Shop', '--shop', 'one', '--json']
    const { brand_id, ...rest } = document(t, await run(args, { program: link, cwd: tmpdir() }))
    t.same(rest, { shop: 'one.myshopify.com' })
    const other = document(t, await here([...args, '--currency', 'EUR', '--shop', 'two']))
    t.not(other.brand_id, brand_id, 'of the same name, and its own')
    const rows = await postgres.sql`select id, currency_code from brand order by shop_domain`
    t.same(
      [...rows],
      [
        { id: brand_id, currency_code: 'USD' },
        { id: other.brand_id, currency_code: 'EUR' },
      ],
    )
    t.match(await here(args), {
      code: 1,
      stderr: 'recoup: one.myshopify.com belongs to another brand already.\n',
    })
    const wrong = async (option: string, value: string) =>
      t.match(await here(['brand', 'create', '--name', 'x', '--shop', 'x', option, value]), {
        code: 1,
        stdout: '',
        stderr: new RegExp(`^recoup: ${option}`),
      })
    await wrong('--name', 'x'.repeat(201))
    await wrong('--shop', 'my shop')
    await wrong('--shop', 'shop.example.com')
    await wrong('--currency', 'euro')
    await wrong('--timezone', 'Europe/Berln')
    await wrong('--feature', 'all')
    await wrong('--region', 'XX')
    await wrong('--storefront', 'https://shop.example.com')
    await wrong('--storefront', 'shop')
    await wrong('--storefront', 'three.myshopify.com')
  })

  await t.test('key create and segment create', async (t) => {
    const [key, segment] = await Promise.all([
      here(['key', 'create', '--brand', 'one', '--scopes', 'segments:read, customers:read', '--json']),
      run(['segment', 'create', '--brand', 'one', '--name', 'Buyers', '--definition', '-', '--json'], {
        stdin: JSON.stringify(everyone),
      }),
    ])
    const { plaintext, ...record } = document(t, key)
    t.match(plaintext, /^svc_/)
    t.match(record, { scopes: ['segments:read', 'customers:read'], revoked_at: null })
    t.match(document(t, segment), {
      name: 'Buyers',
      version: 1,
      created_by: 'cli',
      definition: everyone,
      audience: { evaluation_status: 'not_evaluated' },
    })
  })

  await t.test('are refused with what is wrong', async (t) => {
    const create = (path: string, brand = 'one') =>
      here(['segment', 'create', '--brand', brand, '--name', 'x', '--definition', path])
    const rule = { all: [{ field: 'orders', op: '=', value: 1 }] }
    const wrong = file('wrong.json', JSON.stringify({ ...everyone, rule }))
    t.match(await create(wrong), {
      code: 1,
      stdout: '',
      stderr: /^recoup: definition\.rule\.all\[0\]\.field: "orders" is not a field/,
    })
    t.match(await create(definition, 'three'), {
      code: 1,
      stdout: '',
      stderr: /there is no brand "three"\. Known: one\.myshopify\.com \(.*two\.myshopify\.com/,
    })
    t.match(await here(['key', 'create', '--brand', 'one', '--scopes', 'segments:raed']), {
      code: 1,
      stdout: '',
      stderr:
        /^recoup: --scopes: "segments:raed" is not a scope that a key can carry\. Known: .*segments:read/,
    })
  })

  await t.test(
    'import: bad rows go to the rejects file and are counted, the same again changes nothing',
    async (t) => {
      const args = ['import', 'orders', orders, '--brand', 'one', '--json']
      const first = document(t, await run(args))
      t.match(first, {
        read: 4,
        imported: 2,
        unchanged: 0,
        rejected: 2,
        rejects_file: `${orders}.one.myshopify.com.orders.rejects.ndjson`,
      })
      const rejects = readFileSync(first.rejects_file, 'utf8').trimEnd().split('\n')
      t.match(
        rejects.map((line) => JSON.parse(line)),
        [
          { field: 'total', value: 'ten' },
          { field: 'created_at', value: '2026-02-30' },
        ],
      )
      t.match(document(t, await here(args)), { read: 4, imported: 0, unchanged: 2, rejected: 2 })
      const missing = await here(['import', 'orders', join(folder, 'none.csv'), '--brand', 'one'])
      t.match(missing, { code: 1, stdout: '', stderr: /none\.csv/ })
    },
  )

  await t.test('refresh', async (t) => {
    const report = document(
      t,
      await run(['refresh', '--brand', 'one', '--as-of', '2026-02-01T00:00:00Z', '--json']),
    )
    t.match(report, { generation: 1, published: true, as_of: '2026-02-01T00:00:00.000Z', failed: [] })
    t.same(report.waiting, [], 'every segment was evaluated')
    t.same(
      report.steps.map(({ step }: { step: string }) => step),
      ['snapshot', 'touched', 'models', 'segments', 'members', 'publish'],
    )
    for (const step of report.steps) t.match(step, { rows: Number, ms: Number })
    t.match(
      document(t, await here(['segment', 'members', '--brand', 'one', '--segment', 'buyers', '--json'])),
      {
        member_count: 2,
        generation: 1,
        members: [{ email: 'ann@example.com' }, { email: null }],
      },
    )
    t.match(await here(['segment', 'members', '--brand', 'one', '--segment', 'buyers']), {
      stdout: /\n2 of 2 members, generation 1 as of 2026-02-01T00:00:00\.000Z\n$/,
    })
  })

  await t.test('segment explain by whatever a customer is known by', async (t) => {
    const args = ['segment', 'explain', '--brand', 'one', '--segment', 'buyers', '--json', '--customer']
    for (const identifier of [
      'Ann@example.com',
      'ann@example.com',
      '(202) 555-0177',
      '2025550177',
      '+1 202 555 0177',
    ])
      t.match(document(t, await here([...args, identifier])), { member: true }, identifier)
    const [ann] =
      await postgres.sql`select id, store_customer_id from customer where email = 'ann@example.com'`
    t.match(document(t, await here([...args, ann?.id])), { customer_id: ann?.id })
    const text = args.filter((one) => one !== '--json')
    t.match(await here([...text, 'ann@example.com']), {
      stdout: /definition\.rule +customer_profile\.orders_count >= 1 +1 +yes +yes\n.* is a member\n$/,
    })
    t.match(await here([...args, 'nobody@example.com']), {
      code: 1,
      stderr: /--customer: there is no customer with the identifier "nobody@example.com"/,
    })
  })

  await t.test('key list, status and doctor', async (t) => {
    const [keys, status, doctor] = await Promise.all([
      here(['key', 'list', '--brand', 'one', '--json']),
      here(['status', '--json']),
      run(['doctor', '--json']),
    ])
    const { data } = document(t, keys)
    t.match(data, [{ scopes: ['segments:read', 'customers:read'], revoked_at: null }])
    t.notOk('plaintext' in data[0])
    t.match(document(t, status), {
      lake: { waiting_events: 0, dead_events: 0 },
      brands: [
        { shop_domain: 'one.myshopify.com', generation: 1, segments: 8, failures: 0, error: null },
        { shop_domain: 'two.myshopify.com', generation: 0 },
      ],
    })
    const { ok, checks } = JSON.parse(doctor.stdout)
    t.match(doctor, { code: ok ? 0 : 1, stderr: '' })
    for (const name of ['node', 'ready', 'postgres', 'lake lag', 'dead events'])
      t.match(
        checks.find(({ check }: { check: string }) => check === name),
        { ok: true },
      )
    await postgres.sql`insert into dead_event (batch_id, line, reason, payload) values (gen_random_uuid(), 0, 'x', '')`
    const wrong = await here(['doctor'])
    t.match(wrong, {
      code: 1,
      stderr: '',
      stdout: /WRONG {2}dead events: 1 that the lake refused: see recoup dead-letter list/,
    })
  })

  await t.test('sql', async (t) => {
    const types = `select sum(ltv) as revenue, count(*) as customers, 2::hugeint ** 80 as big, 1::ubigint as small,
      interval 2 days as days, time '10:00' as at, 'nan'::double as nan, [1::bigint] as list, {'a': 1.50::decimal(9, 2)} as row,
      timestamp '2026-01-01' as day, '\\xAA'::blob as bytes from ltv`
    const args = ['sql', '--brand', 'one']
    const [brand] = await postgres.pipeline.many<Brand>('brands_all')
    const brandDir = join(readConfig(env).lakeDir, brandFolder((brand as Brand).id))
    t.match(document(t, await run([...args, types, '--json'])), [
      {
        revenue: '30.50',
        customers: 2,
        small: 1,
        nan: 'NaN',
        list: [1],
        row: { a: '1.50' },
        day: '2026-01-01T00:00:00.000Z',
        bytes: 'aa',
      },
    ])
    const written = `select date '2023-05-01' as day, time '10:00' as at, timetz '10:00:00+02' as there, interval 1 day as long,
      '101'::bit as bits, [date '2023-05-01'] as days, {'at': time '10:00:00.5'} as row, date 'infinity' as never`
    t.strictSame(document(t, await run([...args, written, '--json'])), [
      {
        day: '2023-05-01',
        at: '10:00:00',
        there: '10:00:00+02',
        long: '1 day',
        bits: '101',
        days: ['2023-05-01'],
        row: { at: '10:00:00.5' },
        never: 'infinity',
      },
    ])
    t.match((await here([...args, "select date '2023-05-01' as day"])).stdout, /\n2023-05-01\n$/)
    const whole =
      'select 9007199254740991 as safe, [-9007199254740993] as below, 18446744073709551615 as beyond'
    t.strictSame(document(t, await run([...args, whole, '--json'])), [
      { safe: 9007199254740991, below: ['-9007199254740993'], beyond: '18446744073709551615' },
    ])
    t.match((await here([...args, types])).stdout, /revenue .*\n-+ .*\n +30\.50 /)
    const far = `select timestamp 'infinity' as never, timestamptz '-infinity' as ever, timestamp '290000-01-01' as late,
      170141183460469231731687303715884105728::uhugeint as huge, 12::bignum as small`
    t.strictSame(document(t, await run([...args, far, '--json'])), [
      {
        never: 'infinity',
        ever: '-infinity',
        late: '290000-01-01 00:00:00',
        huge: '170141183460469231731687303715884105728',
        small: 12,
      },
    ])
    const refused = async (statement: string, stderr: RegExp) =>
      t.match(await here([...args, statement]), { code: 1, stdout: '', stderr })
    await refused('select total from orders_of_all', /^recoup: Catalog Error: .*orders_of_all/)
    await refused("from read_text('/etc/passwd')", /^recoup: Permission Error/)
    await refused(
      'from ltv where customer_id = $customer_id',
      /^recoup: Put the values in place of the parameters: customer_id/,
    )
    const shown = await here(['segment', 'sql', '--brand', 'one', '--segment', 'Buyers'])
    t.equal(
      document(t, await here([...args, shown.stdout, '--json'])).length,
      2,
      'a segment runs as it is shown',
    )
    t.equal(document(t, await here([...args, 'from rfm limit 5', '--json'])).length, 2)
    t.equal(
      document(t, await here([...args, 'from rfm', 'limit', '1', '--json'])).length,
      1,
      'of several words',
    )
    const two = 'select 1 as one; select 2 as two'
    t.match(await here([...args, two]), { code: 0, stdout: 'one\n---\n  1\n\ntwo\n---\n  2\n' })
    t.same(document(t, await here([...args, two, '--json'])), [[{ one: 1 }], [{ two: 2 }]])
    t.same(
      document(t, await here([...args, 'select 1 as one;', 'select 2 as two', '--json'])),
      [[{ one: 1 }], [{ two: 2 }]],
      'quoted apart',
    )
    const third = `select ';' as one; /* of ; all */ pivot (select 'a' as kind, 1 as amount) on kind using sum(amount);
      -- not; there
      from   nobody; select 4`
    const failed = /^recoup: Statement 3 of 4 \(from nobody\): Catalog Error: .*nobody/
    t.match(await here([...args, third]), { code: 1, stdout: 'one\n---\n;\n\na\n-\n1\n', stderr: failed })
    t.match(await here([...args, third, '--json']), { code: 1, stdout: '', stderr: failed })
    const late = `select 1 as one; select 'not a number of anything at all'::integer`
    t.match(await here([...args, late]), {
      stderr: /^recoup: Statement 2 of 2 \(select 'not a number of anything at all'…\): Conversion Error/,
    })
    await refused('select 1 as one; selec 2', /^recoup: Statement 2 \(selec 2\): Parser Error: .*selec/)
    const pivot = "pivot (select 'a' as kind, 1 as amount) on kind using sum(amount)"
    t.match(document(t, await here([...args, pivot, '--json'])), [{ a: '1' }], 'its parts do not show')
    const copy = `copy (select 1 as x) to '${join(brandDir, 'x.parquet')}'`
    const logging = `call enable_logging(storage = 'file', storage_path = '${join(brandDir, 'x')}')`
    for (const statement of [
      copy,
      `EXPLAIN ANALYZE ${copy}`,
      `prepare p as ${copy}`,
      `attach '${join(brandDir, 'x.duckdb')}'`,
      `export database '${join(brandDir, 'x')}'`,
      `EXPORT/* of all */ -- here
        DATABASE '${join(brandDir, 'x')}'`,
      logging,
      `create table x as from "enable_logging"(storage_path = '${join(brandDir, 'x')}')`,
      `from query('from enable_' || 'logging(storage_path = ''${join(brandDir, 'x')}'')')`,
      `from query/**/('from enable_' || 'logging(storage_path = ''${join(brandDir, 'x')}'')')`,
      `from query -- here\r('from enable_' || 'logging(storage_path = ''${join(brandDir, 'x')}'')')`,
      'from json_execute_serialized_sql/* of all */ (json_serialize_sql($$from ltv$$))',
      'call enable_peg_parser()',
      `select '/*'; ${logging} -- */`,
      `/* ' */ ${logging} -- '`,
      `/* /* */ */ ${logging}`,
      `select e'\\''; ${logging} --'`,
      `select e'a'\n'\\''; ${logging} --'`,
      `select 'a\\'; ${logging} --'`,
      `select 1 as a$$; ${logging}; select 2 as b$$`,
      `select $é$'$é$; ${logging} --'`,
      `select 'open; ${logging.replaceAll("'", '')}`,
    ]) {
      await refused(statement, /^recoup: COPY, EXPORT, .* no file is written\. Print rows with --json > FILE/)
    }
    t.same(
      readdirSync(brandDir).filter((name) => name.startsWith('x')),
      [],
      'none is written',
    )
    const unsaid = `explain analyze select 'copy'; select 'how to export database backups' as a, 'search query (%' as b,
      e'it\\'s query (' as c, $$export database$$ as d, $of$it's query ($of$ as e -- that's enable_logging
      /* "export database" */`
    t.same(
      document(t, await here([...args, unsaid, '--json'])).at(-1),
      [
        {
          ...{ a: 'how to export database backups', b: 'search query (%', c: "it's query (" },
          ...{ d: 'export database', e: "it's query (" },
        },
      ],
      'nothing is written by what literals and comments say',
    )
    const kept = 'create table kept as select 1 as one; explain analyze from kept; from kept'
    t.same(document(t, await here([...args, kept, '--json'])).at(-1), [{ one: 1 }], 'tables of its own are')
    t.same(document(t, await here([...args, ';', '--json'])), [])
  })

  await t.test('the prompt of sql', async (t) => {
    const app = await openApp(readConfig(env))
    t.teardown(app.close)
    const [brand] = await postgres.pipeline.many<Brand>('brands_all')
    const session = await openReading(app.pipeline, brand as Brand)
    t.teardown(() => session.close())
    const output = new PassThrough()
    const typed = [
      '.help',
      'select',
      "';' as a;",
      'selec 1;',
      '.tables',
      'select 1 as b; select 2 as c;',
      'select 4 as d; from nobody;',
    ]
    await prompt(session, brand as Brand, Readable.from([...typed, '.exit', 'select 3;'].join('\n')), output)
    const said = await textOf(output.end())
    t.match(said, /^DuckDB over Shop \(one\.myshopify\.com\) as of /)
    t.match(said, /recoup> Statements of DuckDB/)
    t.match(said, /recoup> {4}\.\.\.> a\n-\n;\nrecoup> Parser Error: .*\n/)
    t.match(
      said,
      /recoup> There is no \.tables: \.help or \.exit\nrecoup> b\n-\n1\n\nc\n-\n2\nrecoup> d\n-\n4\n\nStatement 2 of 2 \(from nobody\): Catalog Error: [\s\S]*\nrecoup> \n$/,
    )
  })

  await t.test('export', async (t) => {
    const folder = t.testdir({ 'rfm.csv': 'of yesterday' })
    const args = ['export', '--brand', 'one', '--model']
    const parquet = join(folder, 'orders.parquet')
    const written = document(t, await here([...args, 'orders', '--to', parquet, '--json']))
    t.match(written, { model: 'orders', file: parquet, rows: Number, bytes: statSync(parquet).size })
    const csv = join(folder, 'rfm.csv')
    t.match(await here([...args, 'rfm', '--to', csv]), {
      code: 0,
      stdout: /rfm\.csv: 2 rows of rfm as of 20\d\d-\S+Z, \d+ bytes/,
    })
    const [header, ...lines] = readFileSync(csv, 'utf8').trim().split('\n')
    t.match(header, /^customer,customer_id,recency_score,frequency_score,monetary_score,tier/)
    t.equal(lines.length, 2, 'the file of yesterday is replaced')
    const modeOf = (path: string) => statSync(path).mode & 0o777
    t.equal(modeOf(parquet), 0o600, 'customers are for the owner alone')
    chmodSync(csv, 0o640)
    await here([...args, 'rfm', '--to', csv])
    t.equal(modeOf(csv), 0o640, 'whom its owner let read it still may')
    await here([...args, 'orders', '--to', join(folder, 'orders.csv')])
    t.match(readFileSync(join(folder, 'orders.csv'), 'utf8'), /,\[\],2026-01-01 00:00:00,.*,10\.00$/m)
    const before = ['--to', csv, '--as-of', '2001-01-01T00:00:00Z', '--json']
    t.match(document(t, await here([...args, 'ltv', ...before])), { rows: 0 }, 'nobody had ordered then')
    const refused = async (given: string[], stderr: RegExp) =>
      t.match(await here(['export', ...given]), { code: 1, stdout: '', stderr })
    await refused(['--model', 'rmf', '--to', csv], /there is no model "rmf"\. Did you mean "rfm"\?/)
    await refused(['--model', 'rfm', '--to', 'rfm.txt'], /--to must end in \.parquet or \.csv/)
    await refused(['--model', 'rfm', '--to', '/no/such/rfm.csv'], /--to: there is no folder \/no\/such/)
    t.same(readdirSync(folder).sort(), ['orders.csv', 'orders.parquet', 'rfm.csv'], 'nothing is left over')
  })
})

t.test('recoup refresh ends with exit code 1 when a segment failed', async (t) => {
  const { here, postgres } = await service(t)
  document(t, await here(['brand', 'create', '--name', 'Shop', '--shop', 'failing', '--json']))
  await postgres.sql`update segment_version set definition = '{"source":"moon","rule":{}}'
    where segment_id = (select id from segment where name = 'Visitors')`
  const { code, stdout } = await here(['refresh', '--brand', 'failing', '--json'])
  t.match({ code, failed: JSON.parse(stdout).failed }, { code: 1, failed: [{ error: /"moon"/ }] })
})

t.test('brand set', async (t) => {
  const { here, postgres, url } = await service(t)
  const create = ['brand', 'create', '--json', '--name', 'Shop', '--shop']
  const { brand_id: id } = document(t, await here([...create, 'one', '--storefront', 'www.one.example']))
  await here([...create, 'two', '--storefront', 'two.example', '--storefront', 'Shop.Two.example'])
  const shown = async () => document(t, await here(['brand', 'show', 'one', '--json']))
  const set = (...args: string[]) => here(['brand', 'set', id, ...args])

  await t.test('changes every setting, says what changed, and the same again changes nothing', async (t) => {
    const names = ['--name', 'Other', '--shop', 'uno', '--currency', 'eur', '--timezone', 'Europe/Berlin']
    const lists = [
      '--region',
      'DE',
      '--feature',
      'cdp',
      '--storefront',
      'b.example',
      '--storefront',
      'A.example',
    ]
    const { changed } = document(t, await here(['brand', 'set', 'one', ...names, ...lists, '--json']))
    t.same(changed, {
      name: { from: 'Shop', to: 'Other' },
      shop_domain: { from: 'one.myshopify.com', to: 'uno.myshopify.com' },
      storefront_domains: { from: ['www.one.example'], to: ['b.example', 'a.example'] },
      currency_code: { from: 'USD', to: 'EUR' },
      timezone: { from: 'UTC', to: 'Europe/Berlin' },
      default_phone_region: { from: 'US', to: 'DE' },
      features: { from: ['cdp', 'beta:cdp-commerce'], to: ['cdp'] },
    })
    t.match(await set(...names, ...lists), { code: 0, stdout: 'Everything is so already.\n' })
    t.match(await set('--shop', 'one', '--storefront', 'none', '--currency', 'EUR'), {
      code: 0,
      stdout:
        'shop_domain: uno.myshopify.com → one.myshopify.com\nstorefront_domains: b.example, a.example → none\n',
    })
    t.match(await shown(), {
      id,
      name: 'Other',
      storefront_domains: [],
      features: ['cdp'],
      timezone: 'Europe/Berlin',
    })
  })
  await t.test('refuses a domain of another brand, also of two that ask at once', async (t) => {
    for (const args of [
      ['--shop', 'two'],
      ['--storefront', 'fine.example', '--storefront', 'shop.two.example'],
    ]) {
      const domain = args.at(-1)?.replace(/^two$/, 'two.myshopify.com')
      t.match(await set('--name', 'Never', ...args), {
        code: 1,
        stdout: '',
        stderr: `recoup: ${domain} belongs to another brand already.\n`,
      })
    }
    t.match(await shown(), { name: 'Other', storefront_domains: [] })
    const both = await Promise.all(
      ['one', 'two'].map((shop) => here(['brand', 'set', shop, '--storefront', 'new.example'])),
    )
    t.same(both.map(({ code }) => code).sort(), [0, 1])
  })
  await t.test('takes a domain as people write it', async (t) => {
    for (const [written, kept] of [
      ['Müller.example', 'xn--mller-kva.example'],
      ['магазин.рф', 'xn--80aairftm.xn--p1ai'],
      ['1.2.3.example', '1.2.3.example'],
    ] as const) {
      await set('--storefront', written)
      t.match(await shown(), { storefront_domains: [kept] })
    }
    await set('--storefront', 'none')
  })
  await t.test('takes a time zone by the name that it has at home, and by its older one', async (t) => {
    for (const zone of [
      'Asia/Kolkata',
      'Asia/Calcutta',
      'Europe/Kyiv',
      'America/Argentina/Buenos_Aires',
      'GMT',
    ]) {
      await set('--timezone', zone)
      t.match(await shown(), { timezone: zone })
    }
    await set('--timezone', 'europe/berlin')
    t.match(await shown(), { timezone: 'Europe/Berlin' })
  })
  await t.test('refuses what is no setting, and what is no brand', async (t) => {
    t.match((await set('--timezone', 'Mars')).stderr, /^recoup: --timezone must be an IANA time zone/)
    t.match((await set('--name', ' ')).stderr, /^recoup: --name is missing/)
    t.match((await set()).stderr, /^recoup: brand set: nothing is set/)
    t.match((await here(['brand', 'set', 'x', '--name', 'y'])).stderr, /BRAND: there is no brand "x"/)
    t.match((await here(['brand', 'show'])).stderr, /^recoup: BRAND is missing/)
  })
  await t.test('is gone by in running servers when it returns', async (t) => {
    const server = await serverProcess(t, url)
    const { plaintext } = await createKey(postgres.forBrand(id), { scopes: ['brand:read'] })
    for (const name of ['First', 'Second']) {
      await set('--name', name)
      t.equal(await server.ask('authenticate', plaintext), name)
    }
  })
  await t.test(
    'key revoke ends a key by its name, prefix or id in running servers when it returns',
    async (t) => {
      const server = await serverProcess(t, url)
      const key = (...args: string[]) => here(['key', ...args, '--brand', id, '--json'])
      const asked = [
        ({ name }: { name: string }) => name,
        (made: { key_prefix: string }) => made.key_prefix,
        (made: { id: string }) => made.id,
      ]
      for (const [at, naming] of asked.entries()) {
        const name = `Till ${at}`
        const made = document(t, await key('create', '--scopes', 'brand:read', '--name', name))
        t.equal(await server.ask('authenticate', made.plaintext), 'Second')
        const { data } = document(t, await key('list'))
        t.match(data[0], { id: made.id, name, revoked_at: null })
        const revoked = document(t, await key('revoke', '--key', naming({ ...made, name })))
        t.match(revoked, { id: made.id, name, revoked_at: String })
        t.equal(await server.ask('authenticate', made.plaintext), 'unauthorized')
      }
      t.match(await key('revoke', '--key', 'Till 0'), {
        code: 1,
        stderr: /^recoup: --key: there is no active key "Till 0" of this brand\. Known: /,
      })
    },
  )
  await t.test('brand list has all', async (t) => {
    const { data } = document(t, await here(['brand', 'list', '--json']))
    t.match(data, [
      { id, name: 'Second' },
      { name: 'Shop', shop_domain: 'two.myshopify.com' },
    ])
    t.match((await here(['brand', 'list'])).stdout, /^id .*\n.*\n.*Second .*\n.*two\.myshopify\.com/)
  })
})

/** An import commits every 10,000 rows: it is killed after the first part, and has two more before it. */
const ORDERS = 24_000

t.test('an import that is killed half-way and run again ends as one run does', async (t) => {
  const { here, env, postgres } = await service(t)
  const rows = Array.from({ length: ORDERS }, (_, at) => `${at},2026-01-01,${at % 90},c${at % 9_000}`)
  const orders = file('many.csv', `external_id,created_at,total,customer_external_id\n${rows.join('\n')}\n`)
  for (const shop of ['killed', 'whole']) await here(['brand', 'create', '--name', shop, '--shop', shop])
  const imported = async () => Number((await postgres.sql`select count(*) from store_order`)[0]?.count)

  const { child, ended } = startRecoup(['import', 'orders', orders, '--brand', 'killed'], { env })
  await eventually(async () => (await imported()) > 0, { everyMs: 10 })
  // The shell of bin/recoup has become the program.
  child.kill('SIGKILL')
  t.match(await ended, { signal: 'SIGKILL', stdout: '' })
  const half = await imported()
  t.ok(half > 0 && half < ORDERS, `${half} orders`)
  const report = document(t, await here(['import', 'orders', orders, '--brand', 'killed', '--json']))
  t.match(report, { read: ORDERS, imported: ORDERS - half, unchanged: half, rejected: 0, rejects_file: null })
  t.match(document(t, await here(['import', 'orders', orders, '--brand', 'whole', '--json'])), {
    imported: ORDERS,
  })
  t.same(await contentOf(postgres, 'killed'), await contentOf(postgres, 'whole'))
})

/** All of a brand that an import makes, as one number each. */
const contentOf = async ({ sql }: Database['postgres'], name: string) => [
  ...(await sql`
    select count(*) as orders, sum(hashtext(external_id || total || store_order.created_at || store_customer_id)::bigint) as content
    from store_order join brand on brand.id = brand_id join customer using (brand_id, subject) where name = ${name}`),
  ...(await sql`
    select count(*) as customers, sum(hashtext(subject || store_customer_id)::bigint) as content
    from customer join brand on brand.id = brand_id where name = ${name}`),
]

t.test(
  'without DATABASE_URL a command starts the embedded Postgres for itself and stops it after',
  async (t) => {
    const dataDir = await clusterFolder(t)
    const env = { DATA_DIR: dataDir }
    document(t, await recoup(['brand', 'create', '--name', 'Mine', '--shop', 'mine', '--json'], { env }))
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
    t.notOk(existsSync(pidFile))
    t.match(document(t, await inProcess(['status', '--json'], env)), {
      brands: [{ shop_domain: 'mine.myshopify.com' }],
    })
    t.notOk(existsSync(pidFile))
  },
)

t.test('recoup migrate says what it applied', async (t) => {
  const env = { DATA_DIR: await clusterFolder(t) }
  const migrate = async () => document(t, await inProcess(['migrate', '--json'], env)).applied.length
  t.ok((await migrate()) > 0)
  t.equal(await migrate(), 0)
})

t.test('where there is no service, only what begins one makes it', async (t) => {
  const DATA_DIR = join(folder, 'nowhere')
  const begin = ['dev', 'serve', 'work', 'migrate', 'brand create', 'restore']
  t.same(
    COMMANDS.filter(({ begins }) => begins).map(({ name }) => name),
    begin,
  )
  const whose = (may: 'migrates' | 'overNewer') => COMMANDS.filter((one) => one[may]).map(({ name }) => name)
  t.same(whose('migrates'), ['dev', 'serve', 'work', 'migrate'])
  t.same(whose('overNewer'), ['serve'])
  for (const args of [
    ['status'],
    ['doctor'],
    ['sql', 'select 1'],
    ['segment', 'members', '--brand', 'x', '--segment', 'y'],
  ])
    t.match(
      await inProcess(args, { DATA_DIR }),
      {
        code: 1,
        stdout: '',
        stderr: `recoup: There is no service in DATA_DIR=${DATA_DIR}. Set DATA_DIR (or DATABASE_URL)`,
      },
      args.join(' '),
    )
  t.notOk(existsSync(DATA_DIR))
})

t.test('a checkout where nothing is installed says what to do', async (t) => {
  const bare = join(folder, 'bare', 'bin')
  mkdirSync(bare, { recursive: true })
  const program = join(bare, 'recoup')
  writeFileSync(program, readFileSync(join(CHECKOUT, 'bin/recoup')), { mode: 0o755 })
  t.match(await recoup(['status'], { program }), {
    code: 1,
    stdout: '',
    stderr: /run "make install" in .*bare/,
  })
})
