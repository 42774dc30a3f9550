import t from 'tap'
import { createCampaign } from '../src/campaign/saved.ts'
import { campaignPageRoutes } from '../src/http/campaign-page.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { PASSWORD, signInServer } from './fixtures/sign-in-server.ts'

const db = await database(t)
const { postgres } = db
const [brand, other] = [await makeBrand(db, { name: 'Lumen' }), await makeBrand(db)]
const server = await signInServer(t, db, {
  routes: (signIn) => campaignPageRoutes({ signIn, db: postgres.forBrand }),
})
await server.user('ann@b.co', [[brand, 'member']])
const made = await createCampaign(
  postgres.forBrand(brand.id),
  {
    name: 'Carts <b>',
    trigger_event: 'checkout_abandoned',
    action_type: 'sms',
    split: {
      branches: [
        { name: 'A', weight: 1 },
        { name: 'B', weight: 3, messages: { sms: 'Still here. Reply STOP to opt out.' } },
      ],
    },
  },
  'test',
)
const path = `/campaigns/${made.id}`
const statusOf = async () =>
  (await postgres.sql`select status from campaign where id = ${made.id}`)[0]?.status

t.test(
  'the page of a campaign shows it to who is signed in, and turns it on with a confirmation',
  async (t) => {
    const visitor = server.browser()
    const login = await visitor.open(path)
    t.match(login.url, /\/sign-in\?next=/)
    const page = await visitor.submit(login, '/sign-in', { email: 'ann@b.co', password: PASSWORD })
    t.equal(page.url, `${server.base}${path}`)
    t.match(page, {
      status: 200,
      text: /Carts &#60;b&#62;[\s\S]*draft[\s\S]*30 minutes[\s\S]*Message B \(weight 3\)/,
    })
    t.notOk(page.text.includes('Pause'), 'a draft is paused already')
    const unsure = await visitor.submit(page, path, { status: 'active' })
    t.equal(unsure.status, 400)
    t.equal(await statusOf(), 'draft')
    const on = await visitor.submit(page, path, { status: 'active', confirm: 'yes' })
    t.match(on, { status: 200, url: `${server.base}${path}`, text: /active[\s\S]*Pause/ })
    t.equal(await statusOf(), 'active')
    for (const [status, answer] of [
      ['draft', 400],
      ['paused', 200],
      ['archived', 200],
      ['active', 409],
    ] as const)
      t.equal((await visitor.submit(page, path, { status, confirm: 'yes' })).status, answer, status)
    t.match(await visitor.open(path), { text: /It is archived, for good/, forms: [{ action: '/sign-out' }] })
  },
)

t.test('nobody sees or changes the campaign of another brand, or from another site', async (t) => {
  const foreign = await createCampaign(
    postgres.forBrand(other.id),
    { trigger_event: 'checkout_abandoned', action_type: 'sms' },
    'test',
  )
  const visitor = server.browser()
  const login = await visitor.open(path)
  const page = await visitor.submit(login, '/sign-in', { email: 'ann@b.co', password: PASSWORD })
  for (const id of [foreign.id, 'none']) t.equal((await visitor.open(`/campaigns/${id}`)).status, 404)
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const post = (id: string, origin: string) =>
    fetch(`${server.base}/campaigns/${id}`, {
      method: 'POST',
      headers: { cookie, origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'status=archived&confirm=yes',
    })
  t.equal((await post(foreign.id, server.base)).status, 404)
  t.equal((await post(made.id, 'https://evil.example')).status, 403)
  t.equal(page.status, 200)
})

t.test(
  'who is signed in for another of their brands is led to the campaign by choosing its brand',
  async (t) => {
    await server.user('bea@b.co', [
      [brand, 'member'],
      [other, 'member'],
    ])
    const theirs = await createCampaign(
      postgres.forBrand(other.id),
      { trigger_event: 'checkout_abandoned', action_type: 'sms' },
      'test',
    )
    const visitor = server.browser()
    const login = await visitor.open(path)
    const choice = await visitor.submit(login, '/sign-in', { email: 'bea@b.co', password: PASSWORD })
    const page = await visitor.submit(choice, '/sign-in/brand', { brand_id: brand.id })
    t.equal(page.url, `${server.base}${path}`)
    t.ok(
      page.text.includes(`/sign-in/brand?${new URLSearchParams({ next: path })}`),
      'a way to another brand',
    )
    const asked = await visitor.open(`/campaigns/${theirs.id}`)
    t.match(asked.text, new RegExp(`value="${other.id}" required checked`))
    const found = await visitor.submit(asked, '/sign-in/brand', { brand_id: other.id })
    t.match(found, { status: 200, url: `${server.base}/campaigns/${theirs.id}` })
    await visitor.submit(found, '/sign-out', {})
    t.match((await visitor.open(path)).url, /\/sign-in\?next=/, 'signed out')
  },
)
