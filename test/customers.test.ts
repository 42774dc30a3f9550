import t, { type Test } from 'tap'
import { createKey } from '../src/access/key.ts'
import { snapshotAll } from '../src/lake/horizon.ts'
import { openServed } from '../src/lake/served.ts'
import { setLogLevel } from '../src/log.ts'
import { type CustomerOrder, type SortedPlace, sortedCustomers } from '../src/ops/sorted-customers.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { logBatch } from './fixtures/lake.ts'
import { randomSource } from './fixtures/random.ts'
import { addOrders, type MadeCustomer, randomCustomers } from './fixtures/random-customers.ts'
import { service } from './fixtures/service.ts'

setLogLevel('error')
t.capture(process.stderr, 'write')

const CUSTOMERS = 300
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

const { app, origin, described } = await service(t, { RATE_LIMITS: 'off' })
const { sql } = app.postgres
const random = randomSource(t)
const brand = await newBrand(app, { features: ['cdp'] })
const { plaintext: key } = await createKey(app.postgres.forBrand(brand.id), { scopes: ['customers:read'] })

/** Requests of a brand's key; each answer is as the OpenAPI document says. */
const client =
  (t: Test, as = key) =>
  async (path: string) => {
    const response = await fetch(origin + path, { headers: { authorization: `Bearer ${as}` } })
    const { status, headers } = response
    const text = await response.text()
    const problems = described.problems('GET', path, { status, headers, text })
    if (problems?.length !== 0) t.fail(`${path}: ${problems}`)
    return { status, body: JSON.parse(text) }
  }
type Call = ReturnType<typeof client>

interface Shown {
  id: string
  [field: string]: unknown
}

/** All rows of a list, page by page. */
async function walk(call: Call, path: string): Promise<Shown[]> {
  const rows: Shown[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await call(`${path}${cursor}`)
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    rows.push(...body.data)
    if (body.next_cursor === null) return rows
    cursor = `&cursor=${body.next_cursor}`
  }
}

const refused = async (t: Test, call: Call, path: string) =>
  t.match(await call(path), { status: 400, body: { error: { code: 'bad_request' } } }, path)

const made = await randomCustomers(sql, brand, random, CUSTOMERS)
const known = made.filter(({ provenance }) => provenance !== 'pixel')
const SORTED_BY = ['total_spend', 'orders_count', 'created_at', 'last_order_at', 'last_event_at']
const SORTS = SORTED_BY.flatMap((field) => [field, `-${field}`])

t.test('before the first refresh the list is empty, and a customer is known', async (t) => {
  const call = client(t)
  t.same((await call('/v1/customers')).body, { data: [], next_cursor: null })
  t.same((await call('/v1/customers/search?query=c')).body, { data: [], next_cursor: null })
  await snapshotAll(app.pipeline)
  const [one] = known
  t.match((await call(`/v1/customers/${one?.id}`)).body, { id: one?.id, email: one?.email })
})

t.test('after a refresh', async (t) => {
  await refreshBrand(app.pipeline, brand.id)
  const call = client(t)
  const all = await walk(call, '/v1/customers?limit=200')

  await t.test('every customer is listed and no visitor', async (t) => {
    t.same(all.map(({ id }) => id).sort(), known.map(({ id }) => id).sort())
  })

  await t.test(
    'each sort is a total order, with nulls last, and a walk has each customer once',
    async (t) => {
      const call = client(t)
      for (const sort of SORTS) {
        const wanted = naivelySorted(all, sort)
        for (const limit of [200, 31]) {
          const ids = (await walk(call, `/v1/customers?sort=${sort}&limit=${limit}`)).map(({ id }) => id)
          t.same(ids, wanted, `${sort}, ${limit} a page`)
        }
      }
      t.same(
        (await walk(call, '/v1/customers?limit=200')).map(({ id }) => id),
        naivelySorted(all, '-created_at'),
      )
    },
  )

  await t.test('sorts are the same over a base and what changed since', async (t) => {
    const call = client(t)
    await addOrders(sql, brand, random, known, 40)
    for (let n = 0; n < 12; n++)
      await logBatch(sql, [{ brand_id: brand.id, store_customer_id: String(random.below(1e6)) }])
    await snapshotAll(app.pipeline)
    const { full } = await refreshBrand(app.pipeline, brand.id, { smallRows: 0, mostTouched: 9 })
    t.equal(full, false)
    const now = await walk(call, '/v1/customers?limit=200')
    t.ok(now.length > all.length)
    const served = openServed(app.pipeline)
    t.teardown(() => served.close())
    const reader = await served.reader(brand.id)
    if (!reader) return t.fail('nothing is published')
    for (const sort of SORTS) {
      const wanted = naivelySorted(now, sort)
      const ids = (await walk(call, `/v1/customers?sort=${sort}&limit=31`)).map(({ id }) => id)
      t.same(ids, wanted, sort)

      const order = { column: sort.replace('-', '') as CustomerOrder['column'], descending: sort[0] === '-' }
      const whole = await sortedCustomers(reader, order, { after: null, limit: wanted.length })
      for (const { place } of random.list(6, 6, () => random.pick(whole))) {
        const from = wanted.indexOf(place.id) + 1
        const after: SortedPlace = { ...place, position: undefined }
        const page = await sortedCustomers(reader, order, { after, limit: 5 })
        t.same(
          page.map(({ customer_id }) => customer_id),
          wanted.slice(from, from + 5),
          'found by the id',
        )
      }
    }
  })

  await t.test('walks by every sort stay in the refresh that they began in while others come', async (t) => {
    const call = client(t)
    const idsBy = async (sort: string) =>
      (await walk(call, `/v1/customers?sort=${sort}&limit=200`)).map(({ id }) => id)
    const before = new Map<string, string[]>()
    for (const sort of SORTS) before.set(sort, await idsBy(sort))

    const walks = SORTS.map((sort) => ({ sort, ids: [] as string[], cursor: '' as string | null }))
    while (walks.some(({ cursor }) => cursor !== null)) {
      for (const at of walks) {
        if (at.cursor === null) continue
        const from = at.cursor && `&cursor=${at.cursor}`
        const { body } = await call(`/v1/customers?sort=${at.sort}&limit=90${from}`)
        at.ids.push(...body.data.map(({ id }: { id: string }) => id))
        at.cursor = body.next_cursor
      }
      await addOrders(sql, brand, random, known, 20)
      await logBatch(sql, [{ brand_id: brand.id, store_customer_id: String(random.below(1e6)) }])
      await snapshotAll(app.pipeline)
      await refreshBrand(app.pipeline, brand.id)
    }
    for (const { sort, ids } of walks) t.same(ids, before.get(sort), sort)
    for (const sort of ['-total_spend', '-orders_count'])
      t.not((await idsBy(sort)).join(), before.get(sort)?.join(), `${sort} has changed meanwhile`)
    t.ok((await walk(call, '/v1/customers?limit=200')).length > all.length + 12)
  })
})

t.test('who became known after the last refresh is read as of now', async (t) => {
  const other = await newBrand(app, { features: ['cdp'] })
  const { plaintext } = await createKey(app.postgres.forBrand(other.id), { scopes: ['customers:read'] })
  const call = client(t, plaintext)
  const read = async (email: string) => {
    const [{ id } = {}] = await sql`select id from customer where brand_id = ${other.id} and email = ${email}`
    return (await call(`/v1/customers/${id}`)).body
  }
  const event = { brand_id: other.id, event_type: 'updateProperties' }
  await logBatch(sql, [{ ...event, email: 'old@example.com' }])
  await snapshotAll(app.pipeline)
  await refreshBrand(app.pipeline, other.id)
  await logBatch(sql, [{ ...event, email: 'new@example.com', properties: { plan: 'gold', seats: 3 } }])
  await snapshotAll(app.pipeline)
  const fresh = {
    email: 'new@example.com',
    attributes: { plan: 'gold', seats: 3 },
    orders_count: 0,
    total_spend: '0.00',
  }
  const before = await read('new@example.com')
  t.match(before, fresh)
  t.match(await read('old@example.com'), { email: 'old@example.com', attributes: {} })
  await refreshBrand(app.pipeline, other.id)
  t.same(await read('new@example.com'), before)
  t.match((await call('/v1/customers/fields')).body.data.at(-1), {
    ...{ field: 'attributes.seats', type: 'integer', source: 'custom' },
    rule: { source: 'customer_attributes', field: 'attributes.seats' },
  })
  t.equal((await client(t)(`/v1/customers/${before.id}`)).status, 404, 'not by another brand')
  t.match(await call('/v1/customers/new@example.com'), {
    status: 404,
    body: { error: { message: /search_customers .* finds ids by email/ } },
  })
})

t.test('who was seen earlier is known from then on, whoever was asked of them before', async (t) => {
  const brand = await newBrand(app, { features: ['cdp'] })
  const { plaintext } = await createKey(app.postgres.forBrand(brand.id), { scopes: ['customers:read'] })
  const call = client(t, plaintext)
  const began = Date.now()
  const early = Math.floor(began / 1000) * 1000 - 700 * 86_400_000
  const event = (email: string, occurred_at: number) => ({ brand_id: brand.id, email, occurred_at })
  await logBatch(sql, [event('later@example.com', began)])
  await logBatch(sql, [event('once@example.com', began), event('once@example.com', early)])
  await snapshotAll(app.pipeline)
  await logBatch(sql, [event('later@example.com', early)])
  await snapshotAll(app.pipeline)
  await refreshBrand(app.pipeline, brand.id)
  const { data } = (await call('/v1/customers')).body
  const created_at = new Date(early).toISOString()
  t.match(data, [{ created_at }, { created_at }])
  for (const { updated_at } of data) t.ok(Date.parse(updated_at) >= began - 1000, 'changed now, not then')
})

t.test('a search finds the first by id with a text, in any case, with or without accents', async (t) => {
  const call = client(t)
  const everyone = await walk(call, '/v1/customers?limit=200')
  const texts = ({ email, phone, first_name, last_name, id, store_customer_id }: Shown) => [
    ...[email, phone, id, store_customer_id],
    [first_name, last_name].filter((text) => text !== null).join(' '),
  ]
  const folded = (text: string) => text.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')
  const naive = (query: string) =>
    everyone.filter((customer) =>
      texts(customer).some((text) => typeof text === 'string' && folded(text).includes(folded(query))),
    )
  const someone = random.pick(known.filter(({ email, phone }) => email && phone)) as {
    email: string
    phone: string
  }
  const queries = [
    ...[someone.email, someone.email.toUpperCase(), someone.email.slice(1, 9), someone.phone.slice(2)],
    ...[
      "O'HARA",
      'zoë',
      'Zoe',
      'Ann Bob',
      'ann-marie zo',
      'example',
      '%',
      '_',
      'nobody at all',
      '\\',
      "' or 1=1 --",
    ],
    ...random.list(20, 20, () => random.pick(known).id.slice(-random.below(8) - 2)),
  ]
  for (const query of queries) {
    const { status, body } = await call(`/v1/customers/search?query=${encodeURIComponent(query)}`)
    const found = body.data.map(({ id }: Shown) => id)
    const wanted = naive(query).map(({ id }) => id)
    t.equal(status, 200)
    t.equal(body.next_cursor, null)
    t.same(found, wanted.sort().slice(0, 25), query)
  }
  t.equal((await call('/v1/customers/search?query=example&limit=3')).body.data.length, 3)
})

t.test('a search finds a phone number as people write it', async (t) => {
  const call = client(t)
  const { id, phone } = random.pick(known.filter(({ phone }) => phone)) as { id: string; phone: string }
  const [area, exchange, line] = [phone.slice(2, 5), phone.slice(5, 8), phone.slice(8)]
  const forms = [
    `(${area}) ${exchange}-${line}`,
    `+1 ${area}-${exchange}-${line}`,
    `1.${area}.${exchange}.${line}`,
  ]
  for (const query of forms.map(encodeURIComponent)) {
    const { data } = (await call(`/v1/customers/search?query=${query}`)).body
    t.match(data, [{ id }], query)
    const { list, totalSize } = (await call(`/cdp/profiles?q=${query}`)).body
    t.match([list, totalSize], [[{ itemId: id }], 1], `${query} among profiles`)
  }
})

t.test('a search finds a name with or without accents, in letters whose cases are no pairs', async (t) => {
  const greek = await newBrand(app, { features: ['cdp'] })
  const names = ['İpek', 'Işıl', 'ΝΙΚΟΣ', 'Νικος', 'Straße', 'Jürgen', 'Ju\u0308rgen', 'Jurgen']
  const rows = names.map((first_name, subject) => ({
    ...{ brand_id: greek.id, subject, id: `name-${subject}`, provenance: 'server', first_name },
    ...{ email: `n${subject}@example.org`, created_at: new Date(), updated_at: new Date() },
  }))
  await sql`insert into customer ${sql(rows)}`
  await snapshotAll(app.pipeline)
  await refreshBrand(app.pipeline, greek.id)
  const { plaintext } = await createKey(app.postgres.forBrand(greek.id), { scopes: ['customers:read'] })
  const call = client(t, plaintext)
  const finds = async (query: string, wanted: string[]) => {
    const { data } = (await call(`/v1/customers/search?query=${encodeURIComponent(query)}`)).body
    t.same(
      data.map(({ first_name }: Shown) => first_name),
      wanted,
      query,
    )
    const { list, totalSize } = (await call(`/cdp/profiles?q=${encodeURIComponent(query)}`)).body
    t.same([list.length, totalSize], [wanted.length, wanted.length], `${query} among profiles`)
  }
  const [, , , , , ...alike] = names
  for (const query of ['Jürgen', 'JÜRGEN', 'jurgen', 'ju\u0308rgen']) await finds(query, alike)
  for (const query of ['İpek', 'İPEK', 'ipek']) await finds(query, ['İpek'])
  for (const query of ['Işıl', 'IŞIL', 'işil']) await finds(query, ['Işıl'])
  for (const query of ['ΝΙΚΟΣ', 'Νικος', 'νικοσ']) await finds(query, ['ΝΙΚΟΣ', 'Νικος'])
  for (const query of ['straße', 'STRAẞE']) await finds(query, ['Straße'])
})

t.test('a search finds an address as it was sent, in letters whose cases are no pairs', async (t) => {
  const turkish = await newBrand(app, { features: ['cdp'] })
  const addresses = ['İx@example.com', 'ΝΙΚΟΣ@example.com']
  await logBatch(
    sql,
    addresses.map((email) => ({ brand_id: turkish.id, email })),
  )
  await snapshotAll(app.pipeline)
  await refreshBrand(app.pipeline, turkish.id)
  const { plaintext } = await createKey(app.postgres.forBrand(turkish.id), { scopes: ['customers:read'] })
  const call = client(t, plaintext)
  for (const email of addresses) {
    for (const query of [email, email.toLowerCase(), email.slice(0, 6)].map(encodeURIComponent)) {
      const { data } = (await call(`/v1/customers/search?query=${query}`)).body
      t.match(data, [{ email: email.toLowerCase() }], query)
      t.equal(data.length, 1)
      t.equal((await call(`/cdp/profiles?q=${query}`)).body.totalSize, 1, `${query} among profiles`)
    }
  }
})

t.test(
  'a search finds whoever absorbed a profile by what that one went by, and no visitor’s word',
  async (t) => {
    const merged = await newBrand(app, { features: ['cdp'] })
    const [seen_at, brand_id] = [new Date(), merged.id]
    const rows = [
      { id: 'one', provenance: 'server', email: 'new@example.com', phone: '+12025550101', first_name: 'Ada' },
      {
        id: 'two',
        provenance: 'server',
        email: 'old@example.com',
        phone: '+12025550102',
        first_name: 'Byron',
      },
      { id: 'three', provenance: 'server', store_customer_id: '9077' },
      { id: 'four', provenance: 'pixel', email: 'forged@example.com' },
      { id: 'five', provenance: 'server', email: 'other@example.com' },
    ].map((row, subject) => ({
      ...{ brand_id, subject, created_at: seen_at, updated_at: seen_at },
      ...{ store_customer_id: null, email: null, phone: null, first_name: null, ...row },
    }))
    await sql`insert into customer ${sql(rows)}`
    const redirect = (subject: number) =>
      sql`insert into subject_redirect ${sql({ brand_id, subject, customer: 0 })}`
    for (const subject of [1, 3]) await redirect(subject)
    await snapshotAll(app.pipeline)
    await refreshBrand(app.pipeline, brand_id)
    const { plaintext } = await createKey(app.postgres.forBrand(brand_id), { scopes: ['customers:read'] })
    const call = client(t, plaintext)
    const finds = async (query: string, wanted: string[]) => {
      const { data } = (await call(`/v1/customers/search?query=${encodeURIComponent(query)}`)).body
      const { list } = (await call(`/cdp/profiles?q=${encodeURIComponent(query)}`)).body
      const found = [data.map(({ id }: Shown) => id), list.map(({ itemId }: Shown) => itemId)]
      t.same(found, [wanted, wanted], query)
    }
    for (const query of ['new@', 'OLD@example', '(202) 555-0101', '(202) 555-0102', 'ada', 'byron', 'two'])
      await finds(query, ['one'])
    await finds('forged', [])
    await finds('9077', ['three'])

    await redirect(2)
    await snapshotAll(app.pipeline)
    await refreshBrand(app.pipeline, brand_id, { smallRows: 0, mostTouched: 9 })
    for (const query of ['9077', 'old@']) await finds(query, ['one'])
  },
)

t.test(
  'a customer is read by its id, a merged one by that of its survivor, and nobody else is',
  async (t) => {
    const call = client(t)
    const [one, two] = known.filter(({ email }) => email) as [MadeCustomer, MadeCustomer]
    for (const { id } of known.slice(0, 20)) {
      const { body } = await call(`/v1/customers/${id}`)
      t.same(body, (await call(`/v1/customers/search?query=${id}`)).body.data[0], 'as in a list')
    }
    await sql`insert into subject_redirect ${sql({ brand_id: brand.id, subject: one.subject, customer: two.subject })}`
    t.match((await call(`/v1/customers/${one.id}`)).body, { id: two.id }, 'at once')
    for (const nobody of [UNKNOWN, 'x', '%00', encodeURIComponent("' or 1=1 --")])
      for (const part of ['', '/activity'])
        t.match(
          (await call(`/v1/customers/${nobody}${part}`)).body.error?.code,
          /not_found|bad_request/,
          nobody,
        )
  },
)

t.test('what is no sort, limit, cursor or query is refused', async (t) => {
  const call = client(t)
  const { body } = await call('/v1/customers?limit=1')
  for (const query of [
    ...['limit=0', 'limit=201', 'limit=x', 'offset=0', 'cursor=x', 'cursor='],
    ...[
      'sort=email',
      'sort=--created_at',
      'sort=created_at;',
      'sort=',
      'sort=%2Bcreated_at',
      'sort=total_spend,created_at',
    ],
    ...[`cursor=${body.next_cursor}&sort=created_at`, `cursor=${body.next_cursor}A`],
  ])
    await refused(t, call, `/v1/customers?${query}`)
  for (const query of [
    '',
    '?query=',
    '?query=%20',
    '?q=x',
    '?query=x&limit=26',
    '?query=x&cursor=x',
    `?query=${'x'.repeat(201)}`,
  ])
    await refused(t, call, `/v1/customers/search${query}`)
  await refused(t, call, `/v1/customers/${known[0]?.id}/activity?cursor=${body.next_cursor}`)
  await refused(t, call, `/v1/customers/${known[0]?.id}/activity?limit=201`)
})

t.test('the fields are those of customers, and what events set', async (t) => {
  const call = client(t)
  const { body } = await call('/v1/customers/fields?catalog=fields-v1')
  t.equal(body.catalog_version, 'fields-v1')
  const fields = new Map<string, Shown>(body.data.map((field: Shown) => [field.field, field]))
  const [shown] = (await call('/v1/customers?limit=1')).body.data
  const builtIn = [...fields].filter(([, { source }]) => source === 'built-in').map(([field]) => field)
  t.same(
    builtIn.filter((field) => !(field in shown)),
    [],
  )
  t.same(
    [...fields.values()]
      .filter(({ sortable }) => sortable)
      .map(({ field }) => field)
      .sort(),
    [...SORTED_BY].sort(),
  )
  const described = body.data.map(({ description }: { description: string }) => description).join()
  t.notMatch(described, /[a-z][A-Z]/, 'no name of the customer-data host')
  t.equal((await call('/v1/customers/fields')).body.catalog_version, null)
  t.equal((await call('/v1/customers/fields?catalog=fields-v0')).body.catalog_version, null)
})

/** Ids by the values as they are shown, ties by id. */
function naivelySorted(rows: readonly Shown[], sort: string): string[] {
  const field = sort.replace('-', '')
  const way = sort.startsWith('-') ? -1 : 1
  const value = (row: Shown) =>
    field === 'total_spend' ? Number(row[field]) : (row[field] as string | number | null)
  return [...rows]
    .sort((a, b) => {
      const [one, other] = [value(a), value(b)]
      if (one === other) return a.id < b.id ? -1 : 1
      if (one === null || other === null) return one === null ? 1 : -1
      return one < other ? -way : way
    })
    .map(({ id }) => id)
}
