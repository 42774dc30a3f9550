import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import t from 'tap'
import { createCampaign, setCampaignStatus } from '../src/campaign/saved.ts'
import { timeOption } from '../src/cli/command.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { main } from '../src/cli/main.ts'
import { progress } from '../src/cli/progress.ts'
import { table } from '../src/cli/table.ts'
import { CHECKOUT } from '../src/config.ts'
import { database } from './fixtures/database.ts'

const folder = mkdtempSync(join(tmpdir(), 'recoup-mistakes-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const db = await database(t)
const { sql } = db.postgres

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

async function recoup(...args: string[]) {
  const said = { stdout: '', stderr: '' }
  const out = (text: string) => {
    said.stdout += text
  }
  const err = (text: string) => {
    said.stderr += text
  }
  const env = { DATABASE_URL: db.url, DATA_DIR: join(folder, 'data') }
  return { code: await main(args, { env, out, err }), ...said }
}

const refused = (stderr: RegExp | string) => ({ code: 1, stdout: '', stderr })
await recoup('brand', 'create', '--name', 'Shop', '--shop', 'one')

t.test('a refresh as of a time to come is refused: its results would be those of the brand', async (t) => {
  t.match(
    await recoup('refresh', '--brand', 'one', '--as-of', '2099-01-01'),
    refused(/--as-of must be in the past/),
  )
})

t.test('a refresh as of the past is refused while campaigns would take who comes back for new', async (t) => {
  await recoup('brand', 'create', '--name', 'Sends', '--shop', 'sends')
  const [brand] = await db.postgres.sql<{ id: string }[]>`select id from brand where name = 'Sends'`
  const own = db.postgres.forBrand(brand?.id ?? '')
  const { id } = await createCampaign(
    own,
    { trigger_event: 'customer_winback', action_type: 'email' },
    'test',
  )
  await setCampaignStatus(own, id, 'active', new Date())
  const refresh = () => recoup('refresh', '--brand', 'sends', '--as-of', '2026-01-01')
  t.match(await refresh(), refused(/Pause those that start at segment_entered, customer_winback/))
  await setCampaignStatus(own, id, 'paused', new Date())
  t.match(await refresh(), { code: 0 })
})

t.test('an import never writes its rejects over what it reads', async (t) => {
  const text = 'external_id,created_at\na1,soon\na2,2026-01-01\n'
  const orders = file('orders.csv', text)
  const link = join(folder, 'link.ndjson')
  symlinkSync(orders, link)
  const map = file('map.json', '{"fields": {"external_id": "external_id", "created_at": "created_at"}}')
  const args = ['import', 'orders', orders, '--brand', 'one', '--map', map, '--rejects']
  const kept = readFileSync(map, 'utf8')
  for (const path of [orders, link, map])
    t.match(await recoup(...args, path), refused(/must not be a file that the import reads/))
  t.match(await recoup(...args, folder), refused(/is no file, or read-only/))
  t.match(await recoup(...args, join(folder, 'none', 'x')), refused(/folder of the rejects file/))
  t.equal(readFileSync(orders, 'utf8'), text)
  t.equal(readFileSync(map, 'utf8'), kept)
  t.same(await sql`select from store_order`, [], 'nothing was imported either')
  t.same(await sql`select from import_rejects`, [], 'and no erasure looks there')
})

t.test('an import says what it leaves out, and fails when that is all', async (t) => {
  const customers = file('customers.csv', 'email,Vorname,tags\na@example.com,Ann,vip\n')
  t.match(await recoup('import', 'customers', customers, '--brand', 'one'), {
    code: 0,
    stdout:
      /^1 rows, of which 0 rejected\. The others hold 1 customers: 1 imported, 0 unchanged\nColumns that nothing is imported from: Vorname\n$/,
  })
  const days = file('days.csv', 'external_id,created_at,total\nd1,31.12.2025,1\nd2,2026-01-01,1\n')
  t.match(await recoup('import', 'orders', days, '--brand', 'one'), {
    code: 0,
    stdout: /^2 rows, of which 1 rejected .* 1 orders: 1 imported/,
  })
  const none = file('none.csv', 'external_id,created_at,total\nd3,31.12.2025,1\n')
  t.match(await recoup('import', 'orders', none, '--brand', 'one'), {
    code: 1,
    stdout:
      /^1 rows, of which 1 rejected \(see .*none\.csv\.one\.myshopify\.com\.orders\.rejects\.ndjson\)\. The others hold 0 orders/,
  })
  const map = file(
    'days.json',
    `{"fields": {"external_id": "external_id", "total": "total", "created_at": "try_strptime(created_at, '%d.%m.%Y')"}, "where": "external_id <> 'd2'"}`,
  )
  t.match(await recoup('import', 'orders', days, '--brand', 'one', '--map', map), {
    code: 0,
    stdout:
      /^2 rows, of which 1 left out by "where" and 0 rejected\. The others hold 1 orders: 1 imported.*\n/,
  })
})

t.test(
  'an import says how many orders are nobody’s, and which columns its mapping does not read',
  async (t) => {
    const retail = file(
      'retail.csv',
      'No,Date,Price,Qty,Customer,Land\nr1,2026-01-01,1,1,,DE\nr2,2026-01-02,1,0,7,DE\nr3,2026-01-03,1,1,7,DE\n',
    )
    const imported = async (fields: object) => {
      const map = { fields: { external_id: 'No', created_at: 'Date', 'line.price': 'Price', ...fields } }
      const path = file('retail.json', JSON.stringify({ ...map, where: 'try_cast("qty" as integer) > 0' }))
      return (await recoup('import', 'orders', retail, '--brand', 'one', '--map', path)).stdout
    }
    t.match(
      await imported({}),
      /2 of these orders name no customer: they belong to nobody\nColumns that nothing is imported from: Customer, Land\n$/,
    )
    t.match(
      await imported({ customer_external_id: `'c' || customer` }),
      /1 of these orders name no customer: they belong to nobody\nColumns that nothing is imported from: Land\n$/,
    )
  },
)

t.test('a mapping and a definition may begin with a byte order mark', async (t) => {
  const orders = file('marked.csv', 'No,created_at,total\nm1,2026-01-01,1\n')
  const map = file(
    'marked.json',
    '\ufeff{"fields": {"external_id": "No", "created_at": "created_at", "total": "total"}}',
  )
  t.match(await recoup('import', 'orders', orders, '--brand', 'one', '--map', map), { code: 0, stderr: '' })
  const definition = file('marked-rule.json', '\ufeff{"source": "marks"}')
  const args = ['--brand', 'one', '--name', 'Marked', '--definition', definition]
  t.match(await recoup('segment', 'create', ...args), refused(/definition\.source: "marks" is not a source/))
})

t.test('an import says what a file lacks', async (t) => {
  const orders = (path: string) => recoup('import', 'orders', path, '--brand', 'one')
  t.match(await orders(file('empty.csv', '')), refused(/empty\.csv: is empty/))
  t.match(await orders(folder), refused(/: is not a file/))
  t.match(await orders(join(folder, 'missing.csv')), refused(/missing\.csv: there is no such file/))
  t.match(await orders(file('other.csv', 'a,b\n1,2\n')), refused(/give a mapping \(--map FILE\)/))
})

t.test('an export into what is no file is refused before it is computed', async (t) => {
  const target = mkdtempSync(join(folder, 'x-'))
  const named = `${target}.csv`
  symlinkSync(target, named)
  const args = ['export', '--brand', 'one', '--model', 'rfm', '--to']
  t.match(await recoup(...args, named), refused(/--to: .*\.csv is a folder, not a file/))
})

t.test('a mail server is not given a sender that is no address', async (t) => {
  const set = (from: string) =>
    recoup(
      ...['channel', 'set', '--brand', 'one', '--channel', 'email', '--adapter', 'smtp'],
      ...['--host', 'smtp.example', '--from', from],
    )
  for (const from of [
    'Shop',
    'shop@',
    'Shop\r\nBcc: e@e.example <a@b.example>',
    'Shop <shop>',
    'a@b.example c@d.example',
  ])
    t.match(await set(from), refused(/--from must be an email address/), from)
  for (const from of ['hello@shop.example', 'The Shop <hello@shop.example>'])
    t.match(await set(from), { code: 0 }, from)
})

t.test('a gateway is asked at an address that holds no password', async (t) => {
  const set = (url: string) =>
    recoup(...['channel', 'set', '--brand', 'one', '--channel', 'sms', '--adapter', 'http_sms', '--url', url])
  t.match(
    await set('https://u:hunter2@sms.example/x'),
    refused(/--url must be an address without a user name/),
  )
})

t.test('a channel is given no option of another adapter', async (t) => {
  const set = (channel: string, ...args: string[]) =>
    recoup('channel', 'set', '--brand', 'one', '--channel', channel, '--adapter', ...args)
  for (const [channel, adapter, option, value] of [
    ['sms', 'outbox', 'url', 'https://sms.example'],
    ['sms', 'http_sms', 'host', 'smtp.example'],
    ['email', 'smtp', 'url', 'https://sms.example'],
  ] as const)
    t.match(
      await set(channel, adapter, `--${option}`, value),
      refused(`recoup: --${option}: is no setting of ${adapter}. See recoup channel set --help\n`),
    )
  t.match(await set('sms', 'outbox', '--rate', '5'), { code: 0 })
})

t.test('a time without a zone is UTC, and no day is taken for another', (t) => {
  const at = (value: string) => timeOption({ 'as-of': value }, 'as-of')?.toISOString()
  t.equal(at('2026-01-31'), '2026-01-31T00:00:00.000Z')
  t.equal(at('2026-01-31 10:30'), '2026-01-31T10:30:00.000Z')
  t.equal(at('2026-01-31T10:30:05.250+02:00'), '2026-01-31T08:30:05.250Z')
  for (const wrong of ['2026-02-31', '2026-1-1', '2026-01-31T25:00', 'yesterday', '2026-01-31junk', ''])
    t.throws(() => at(wrong), /--as-of must be an ISO 8601 time/, wrong)
  t.end()
})

t.test('a command that fails half-way ends its bar, and the cursor is never hidden', async (t) => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  const shown = progress('import', terminal as unknown as NodeJS.WriteStream)
  shown.update(1, 2)
  shown.end()
  const said = await textOf(terminal.end())
  t.match(said, /import \[.*50%.*1\/2/s)
  t.match(said, /\n$/, 'what is said next has a line of its own')
  t.notMatch(said, '\x1b[?25l')
})

t.test('a table keeps its columns whatever the values are', (t) => {
  const rows = [
    ['plan', 'one\ntwo'],
    ['\x1b[2Jname\r', 1],
  ]
  t.equal(
    table(['a', 'b'], rows),
    [
      'a                b',
      '---------------  ---',
      'plan             one',
      '                 two',
      '\\x1b[2Jname\\x0d  1',
    ].join('\n'),
  )
  t.end()
})

t.test('help on a command is its help', async (t) => {
  t.equal((await recoup('help', 'export')).stdout, (await recoup('export', '--help')).stdout)
  t.equal((await recoup('help', 'brand', 'set')).stdout, (await recoup('brand', 'set', '--help')).stdout)
})

t.test('the version is that of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'))
  t.match(await recoup('--version'), { code: 0, stdout: `recoup ${version}\n` })
})

t.test('an argument too few or too many is told in the same words by every command', async (t) => {
  for (const { name, arguments: declared = [] } of COMMANDS) {
    const see = `See recoup ${name} --help`
    const given: string[] = []
    for (const word of declared.filter((one) => !one.startsWith('['))) {
      t.match(await recoup(...name.split(' '), ...given), refused(`recoup: ${word} is missing. ${see}\n`))
      given.push('x')
    }
    if (declared.some((word) => word.endsWith('…]'))) continue
    const most = declared.map(() => 'x')
    t.match(
      await recoup(...name.split(' '), ...most, 'more'),
      refused(`recoup: Unexpected argument 'more'. ${see}\n`),
    )
  }
})

t.test('an empty argument, as of a variable that is not set, is a missing one', async (t) => {
  const missing = async (argument: string, ...args: string[]) =>
    t.match(await recoup(...args), refused(`recoup: ${argument} is missing`))
  await missing('FOLDER', 'backup', '')
  await missing('ID', 'dead-letter', 'replay', '', '--brand', 'one')
  await missing('STATEMENT', 'sql', '')
})

t.test('a scope that no key can carry is named with its option', async (t) => {
  const made = (scopes: string) => recoup('key', 'create', '--brand', 'one', '--scopes', scopes)
  t.match(await made('segments:read,keys:manage'), refused(/^recoup: --scopes: "keys:manage" is not a scope/))
})

t.test('a policy of which nothing is set is refused', async (t) => {
  t.match(await recoup('policy', 'set', '--brand', 'Shop'), refused(/nothing is set/))
})

t.test('members of a segment that waits for its first refresh are not said to be none', async (t) => {
  const definition = file(
    'rule.json',
    '{"source":"customer_profile","rule":{"field":"orders_count","op":">","value":0}}',
  )
  const made = await recoup(
    'segment',
    'create',
    '--definition',
    definition,
    '--brand',
    'Shop',
    '--name',
    'Buyers',
  )
  t.match(
    await recoup('segment', 'members', '--brand', 'Shop', '--segment', 'Buyers'),
    { code: 0, stdout: /not evaluated yet/ },
    made.stderr,
  )
})

t.test('a segment that is not there is answered with those that are, which are listed with it', async (t) => {
  t.match(
    await recoup('segment', 'members', '--brand', 'Shop', '--segment', 'Byers'),
    refused(/there is no active segment "Byers" of this brand\. Known: Buyers, .*Visitors/),
  )
  const { stdout } = await recoup('segment', 'list', '--brand', 'Shop', '--json')
  const { data } = JSON.parse(stdout)
  t.match(data[0], { name: 'Buyers', status: 'active', audience: { member_count: 0 } })
  t.equal(data.length, 8, 'with the built-in ones')
  t.match(await recoup('segment', 'list', '--brand', 'Shop'), { stdout: /^name .*\n.*\nBuyers +active +/ })
})

t.test('campaigns are listed, archived ones when they are asked for', async (t) => {
  const [brand] = await sql`select id from brand where name = 'Shop'`
  const brandDb = db.postgres.forBrand(brand?.id)
  const made = await createCampaign(
    brandDb,
    { trigger_event: 'checkout_abandoned', action_type: 'email', name: 'Carts' },
    'cli',
  )
  const names = async (...args: string[]) => {
    const { stdout } = await recoup('campaign', 'list', '--brand', 'Shop', '--json', ...args)
    return JSON.parse(stdout).data.map(({ name }: { name: string }) => name)
  }
  t.same(await names(), ['Carts'])
  await sql`update campaign set status = 'archived' where id = ${made.id}`
  t.same([await names(), await names('--archived')], [[], ['Carts']])
})

t.test('a mistyped command is answered with the nearest one', async (t) => {
  const near: [string[], string][] = [
    [['exprot', '--brand', 'one'], '"exprot" is not a command. Did you mean "export"? See recoup --help'],
    [
      ['segments', 'list'],
      '"segments list" is not a command. Did you mean "segment list"? See recoup --help',
    ],
    [['refesh', 'one'], '"refesh one" is not a command. Did you mean "refresh"? See recoup --help'],
    [['brnd'], '"brnd" is not a command. Did you mean "brand"? See recoup --help'],
    [['nothing'], '"nothing" is not a command. See recoup --help'],
  ]
  for (const [args, message] of near) t.match(await recoup(...args), refused(`recoup: ${message}\n`))
})

t.test('a discount without what it is worth, and a user who is not there, are said as such', async (t) => {
  const discount = ['discount', 'add', '--brand', 'Shop', '--name', 'Ten', '--type']
  t.match(await recoup(...discount, 'percentage'), refused('recoup: --value is missing\n'))
  t.match(await recoup(...discount, 'free_shipping'), { code: 0, stdout: /^Discount Ten \(free shipping\)/ })
  t.match(
    await recoup('user', 'remove', '--brand', 'Shop', '--email', 'no@example.com'),
    refused('recoup: There is no user "no@example.com". See recoup user list\n'),
  )
})
