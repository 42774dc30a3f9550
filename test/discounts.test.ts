import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import { composerOptions } from '../src/campaign/composer.ts'
import { addDiscount, type Discount, type NewDiscount, removeDiscount } from '../src/campaign/discount.ts'
import { discountCode } from '../src/campaign/discount-code.ts'
import { createCampaign, setCampaignStatus } from '../src/campaign/saved.ts'
import { rememberFilled } from '../src/connect/demo/filled.ts'
import { type FakeStore, type FakeStoreOptions, startFakeStore } from '../src/connect/demo/store/server.ts'
import { ShopState } from '../src/connect/demo/store/state.ts'
import type { Brand } from '../src/op.ts'
import { OPS } from '../src/ops/all.ts'
import { api } from './fixtures/api.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { emptyFolder } from './fixtures/cluster.ts'
import { database } from './fixtures/database.ts'
import { recoup } from './fixtures/recoup.ts'
import { client, walk } from './fixtures/shop.ts'
import { connectedBrand } from './fixtures/store.ts'

t.capture(process.stderr, 'write')

const DAY_MS = 86_400_000
const db = await database(t)
const { sql } = db.postgres
const made = await api(t, db, OPS)
const of = (brand: Brand) => db.postgres.forBrand(brand.id)

const TEN: NewDiscount = {
  name: 'Ten percent',
  type: 'percentage',
  value: '10',
  code: null,
  prefix: 'BACK',
  minimum_type: null,
  minimum_value: null,
  duration_days: null,
}

async function contact(brand: Brand, subject: number | null = null): Promise<string> {
  const id = v7()
  await sql`insert into contact (brand_id, id, subject, email) values (${brand.id}, ${id}, ${subject}, ${`${id}@example.com`})`
  return id
}

const orderWith = (brand: Brand, code: string, subject: number | null, by: typeof sql = sql) => by`
  insert into store_order (brand_id, external_id, id, subject, state, billing_status, currency_code, total, discount_codes,
    created_at, updated_at)
  values (${brand.id}, ${v7()}, ${v7()}, ${subject}, 'complete', 'paid', 'USD', 1, ${[code]}, now(), now())`

async function fakeStore(t: Test, options: Partial<FakeStoreOptions> = {}) {
  const store: FakeStore = await startFakeStore({
    state: new ShopState(),
    shopDomain: 'any.myshopify.com',
    accessToken: 'shpat_test',
    ...options,
  })
  t.teardown(() => store.close())
  return { store, connection: { apiOrigin: store.origin, accessToken: 'shpat_test' } }
}

t.test('saved discounts are listed newest first and read; another brand’s are as none', async (t) => {
  const [brand, other] = [await makeBrand(db), await makeBrand(db)]
  const saved: Discount[] = []
  for (const more of [
    { name: 'A', duration_days: 7, minimum_type: 'amount', minimum_value: '40' },
    { name: 'B', prefix: null, code: 'SAVE10' },
    { name: 'C', type: 'free_shipping', value: null, minimum_type: 'quantity', minimum_value: '2' },
    { name: 'D', type: 'fixed_amount', value: '5.5' },
  ] as Partial<NewDiscount>[])
    saved.push(await addDiscount(of(brand), { ...TEN, ...more }))
  const foreign = await addDiscount(of(other), TEN)
  const ask = client(t, made, await made.key(brand, ['campaigns:read']))
  const rows = await walk<{ id: string; name: string }>(ask, 'GET /v1/discounts?limit=3')
  t.same(
    rows.map(({ name }) => name),
    ['D', 'C', 'B', 'A'],
  )
  t.same(rows[3], {
    id: saved[0]?.id,
    name: 'A',
    type: 'percentage',
    value: '10.00',
    code: null,
    is_static: false,
    minimum: { type: 'amount', value: '40.00' },
    duration_days: 7,
    created_at: saved[0]?.created_at.toISOString(),
  })
  t.match(rows[2], { code: 'SAVE10', is_static: true, minimum: null, duration_days: null })
  t.match(rows[1], { type: 'free_shipping', value: null, minimum: { type: 'quantity', value: '2.00' } })
  t.same((await ask(`GET /v1/discounts/${rows[0]?.id}`)).body, rows[0])
  await removeDiscount(of(brand), saved[0]?.id ?? '')
  const missing = await ask(`GET /v1/discounts/${v7()}`)
  for (const id of [foreign.id, saved[0]?.id])
    t.equal((await ask(`GET /v1/discounts/${id}`)).text, missing.text)
  t.equal(missing.status, 404)
  t.equal((await walk(ask, 'GET /v1/discounts')).length, 3)
})

t.test('a discount that cannot be is refused by the field that is wrong', async (t) => {
  const brand = await makeBrand(db)
  const wrong: [Partial<NewDiscount>, RegExp][] = [
    [{ name: '  ' }, /^name must be/],
    [{ name: '\u200b' }, /^name must be/],
    [{ value: null }, /^value must be an amount above 0/],
    [{ value: '0' }, /^value must be an amount above 0/],
    [{ value: 'ten' }, /^value must be an amount above 0/],
    [{ value: '1.234' }, /^value must be an amount above 0 with at most two decimals/],
    [
      { minimum_type: 'amount', minimum_value: '9.999' },
      /^minimum\.value must be an amount with at most two/,
    ],
    [{ value: '100.5' }, /^value must be at most 100 percent/],
    [{ type: 'free_shipping' }, /^value is not for free_shipping/],
    [{ prefix: 'a b' }, /^prefix must be/],
    [{ prefix: null, code: 'SAVE 10' }, /^code must be/],
    [{ code: 'SAVE10' }, /^code is what everybody gets/],
    [{ prefix: null, code: 'SAVE10', duration_days: 3 }, /^code is what everybody gets/],
    [{ minimum_type: 'amount' }, /^minimum must have a type and a value/],
    [{ minimum_type: 'amount', minimum_value: '-3' }, /^minimum.value must be an amount/],
    [{ minimum_type: 'quantity', minimum_value: '1.5' }, /^minimum.value must be a whole quantity/],
    [{ duration_days: 400 }, /^duration_days must be 1 to 365/],
  ]
  for (const [more, message] of wrong)
    await t.rejects(addDiscount(of(brand), { ...TEN, ...more }), { code: 'bad_request', message })
  await addDiscount(of(brand), TEN)
  await t.rejects(addDiscount(of(brand), { ...TEN, name: ' ten PERCENT ' }), {
    code: 'conflict',
    cause: { code: '23505' },
    message: /named/,
  })
})

t.test('a campaign offers saved discounts, and one that is offered stays', async (t) => {
  const brand = await makeBrand(db)
  const { id } = await addDiscount(of(brand), { ...TEN, minimum_type: 'amount', minimum_value: '40' })
  const { discount_rules } = await composerOptions(of(brand), undefined)
  t.same(discount_rules, [
    {
      id,
      name: 'Ten percent',
      type: 'percentage',
      value: '10.00',
      minimum: { type: 'amount', value: '40.00' },
      duration_days: null,
      is_static: false,
    },
  ])
  const sent = {
    trigger_event: 'checkout_abandoned',
    action_type: 'sms',
    name: 'Come back',
    discount_id: id,
  } as const
  const campaign = await createCampaign(of(brand), sent, 'test')
  t.equal(campaign.definition.discount_id, id)
  await t.rejects(removeDiscount(of(brand), id), { code: 'conflict', message: /"Come back"/ })
  await setCampaignStatus(of(brand), campaign.id, 'archived', new Date())
  await removeDiscount(of(brand), id)
  await t.rejects(createCampaign(of(brand), sent, 'test'), {
    message: /^discount_id: there is no saved discount/,
  })
})

t.test('each contact gets one code of their own, which the store has', async (t) => {
  const { store, connection } = await fakeStore(t)
  const brand = await makeBrand(db)
  const discount = await addDiscount(of(brand), {
    ...TEN,
    duration_days: 7,
    minimum_type: 'amount',
    minimum_value: '40',
  })
  const [ada, bob] = [await contact(brand), await contact(brand)]
  const now = new Date('2026-11-21T10:00:00Z')
  const issue = (whom: string) => discountCode(of(brand), discount, whom, { store: connection, now })
  const codes = await Promise.all([issue(ada), issue(ada), issue(ada), issue(bob)])
  t.equal(new Set(codes.slice(0, 3).map(({ code }) => code)).size, 1, 'at the same time the same one')
  t.not(codes[0].code, codes[3].code)
  t.match(codes[0].code, /^BACK-[A-Z2-9]{8}$/)
  t.same(codes[0].expires_at, new Date('2026-11-28T10:00:00Z'))
  t.same([...store.discounts.keys()].sort(), [codes[0].code, codes[3].code].sort())
  t.same(store.discounts.get(codes[0].code), {
    title: 'Ten percent',
    code: codes[0].code,
    startsAt: '2026-11-21T10:00:00.000Z',
    endsAt: '2026-11-28T10:00:00.000Z',
    usageLimit: 1,
    appliesOncePerCustomer: true,
    context: { all: 'ALL' },
    minimumRequirement: { subtotal: { greaterThanOrEqualToSubtotal: '40.00' } },
    customerGets: { items: { all: true }, value: { percentage: 0.1 } },
  })
  const asked = store.counts.answered
  t.same(await issue(ada), codes[0])
  t.equal(store.counts.answered, asked, 'the store is not asked again')
})

t.test('a contact gets another code when the last was used or half of its days are over', async (t) => {
  const brand = await makeBrand(db)
  const lasting = await addDiscount(of(brand), TEN)
  const ending = await addDiscount(of(brand), { ...TEN, name: 'For a week', prefix: null, duration_days: 7 })
  // 3 was merged into 2: what either bought is theirs.
  await sql`insert into subject_redirect (brand_id, subject, customer) values (${brand.id}, 3, 2)`
  const ada = await contact(brand, 3)
  const start = Date.parse('2026-11-21T10:00:00Z')
  const at = async (discount: Discount, days: number) =>
    (await discountCode(of(brand), discount, ada, { store: 'demo', now: new Date(start + days * DAY_MS) }))
      .code
  const first = await at(ending, 0)
  t.equal(await at(ending, 3.4), first)
  const second = await at(ending, 3.6)
  t.not(second, first)
  t.match(second, /^THANKS-/)
  const short = await addDiscount(of(brand), { ...TEN, name: 'For a day', duration_days: 1 })
  const today = await at(short, 0)
  t.equal(await at(short, 0.4), today)
  t.not(await at(short, 0.6), today, 'of a day, too')
  const kept = await at(lasting, 0)
  t.equal(await at(lasting, 300), kept)
  await orderWith(brand, kept.toLowerCase(), 2)
  t.not(await at(lasting, 300), kept)
})

t.test('a code that somebody else used is not given to its contact again', async (t) => {
  const [brand, other] = [await makeBrand(db), await makeBrand(db)]
  const discount = await addDiscount(of(brand), TEN)
  const ada = await contact(brand, 3)
  const code = async () =>
    (await discountCode(of(brand), discount, ada, { store: 'demo', now: new Date() })).code
  const first = await code()
  await orderWith(other, first, 9)
  t.equal(await code(), first, 'another brand’s code of the same name is another one')
  await orderWith(brand, first, 9)
  const second = await code()
  t.not(second, first)
  await orderWith(brand, 'SPRING', null)
  await sql`
    update store_order set discount_codes = ${['SPRING', second]} where brand_id = ${brand.id} and subject is null`
  t.not(await code(), second, 'also by an order of nobody, which got it later')
})

t.test('an order reads no other codes than its own, also where there were few of them before', async (t) => {
  const brand = await makeBrand(db)
  const discount = await addDiscount(of(brand), TEN)
  const ada = await contact(brand)
  const one = await sql.reserve()
  t.teardown(() => one.release())
  const order = (code: string) => orderWith(brand, code, null, one)
  const read = async () => {
    const [row] = await one<{ rows: number }[]>`
      select (seq_tup_read + idx_tup_fetch)::integer as rows from pg_stat_xact_user_tables
      where relname = 'discount_code'`
    return row?.rows
  }
  for (let n = 0; n < 10; n++) await order('SPRING')
  await one`
    insert into discount_code (brand_id, discount_id, contact_id, turn, code)
    select ${brand.id}, ${discount.id}, ${ada}, n, 'CODE-' || n from generate_series(1, 5000) as n`
  await one`begin`
  const before = await read()
  await order('SPRING')
  t.equal(await read(), before)
  await one`rollback`
})

t.test('a code is given out only once the store has it, and a lost answer makes no second one', async (t) => {
  const { store, connection } = await fakeStore(t)
  const brand = await makeBrand(db)
  const discount = await addDiscount(of(brand), { ...TEN, type: 'free_shipping', value: null })
  const ada = await contact(brand)
  const now = new Date()
  const refused = { ...connection, accessToken: 'shpat_wrong' }
  await t.rejects(discountCode(of(brand), discount, ada, { store: refused, now }), {
    code: 'integration_not_connected',
  })
  const [waiting] = await sql`select code, made_at from discount_code where brand_id = ${brand.id}`
  t.equal(waiting?.made_at, null)
  store.fail('503', 'cut')
  const { code } = await discountCode(of(brand), discount, ada, { store: connection, now })
  t.equal(code, waiting?.code, 'what was begun is taken up')
  t.match(store.discounts.get(code), { destination: { all: true }, usageLimit: 1 })
  // As if the process had died before it could note the store's answer.
  await sql`update discount_code set made_at = null where brand_id = ${brand.id}`
  t.equal((await discountCode(of(brand), discount, ada, { store: connection, now })).code, code)
  t.equal(store.discounts.size, 1)

  const poor = await fakeStore(t, { scopes: ['read_products'] })
  const denied = discountCode(of(brand), discount, await contact(brand), { store: poor.connection, now })
  await t.rejects(denied, { code: 'forbidden', message: /lacks a scope/ })
})

t.test('without a store no contact gets a code of their own', async (t) => {
  const brand = await makeBrand(db)
  const discount = await addDiscount(of(brand), TEN)
  const made = discountCode(of(brand), discount, await contact(brand), { store: null, now: new Date() })
  await t.rejects(made, { code: 'integration_not_connected', message: /^No store is connected/ })
  t.match(await sql`select made_at from discount_code where brand_id = ${brand.id}`, [{ made_at: null }])
})

t.test('a static code is everybody’s', async (t) => {
  const brand = await makeBrand(db)
  const discount = await addDiscount(of(brand), { ...TEN, prefix: null, code: 'SAVE10' })
  const issued = await discountCode(of(brand), discount, await contact(brand), {
    store: null,
    now: new Date(),
  })
  t.same(issued, { code: 'SAVE10', expires_at: null })
  t.same(await sql`select from discount_code where brand_id = ${brand.id}`, [])
})

t.test(
  'who adds a discount without a store is told that no code is made, of a demo they are not',
  async (t) => {
    const [brand, demo, connected] = [
      await makeBrand(db),
      await makeBrand(db),
      await connectedBrand(db, { connectedAt: new Date() }),
    ]
    const folder = await emptyFolder(t)
    rememberFilled({ dataDir: folder }, demo.id, { customers: 1, days: 1, seed: 1, ends_at: '' })
    const env = { DATABASE_URL: db.url, DATA_DIR: folder }
    const ten = ['--type', 'percentage', '--value', '10', '--json']
    const told = async ({ id }: Brand, name: string, ...more: string[]) =>
      (await recoup(['discount', 'add', '--brand', id, '--name', name, ...ten, ...more], { env })).stderr
    t.match(await told(brand, 'Each'), /^No store is connected to Test brand: .* send nothing/)
    t.notMatch(await told(brand, 'Same', '--code', 'SAME'), /No store/)
    t.notMatch(await told(demo, 'Each'), /No store/)
    t.notMatch(await told(connected, 'Each'), /No store/)
  },
)

t.test('discounts are added, listed and removed by commands', async (t) => {
  const brand = await makeBrand(db)
  const env = { DATABASE_URL: db.url, DATA_DIR: await emptyFolder(t) }
  const run = (...args: string[]) => recoup(['discount', ...args, '--brand', brand.id, '--json'], { env })
  const added = await run('add', '--name', 'Ten', '--type', 'percentage', '--value', '10', '--days', '7')
  t.match(JSON.parse(added.stdout), { name: 'Ten', value: '10.00', duration_days: 7 })
  t.match(JSON.parse((await run('list')).stdout).data, [{ name: 'Ten' }])
  t.match(await run('add', '--name', 'Ten', '--type', 'share'), { code: 1, stderr: /--type must be one of/ })
  t.equal((await run('remove', '--discount', 'ten')).code, 0)
  t.same(JSON.parse((await run('list')).stdout).data, [])
  t.match(await run('remove', '--discount', 'ten'), { stderr: /there is no discount "ten"/ })
})
