import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createSeal } from '../src/access/seal.ts'
import { openSignIn } from '../src/access/sign-in/open.ts'
import { isPassword } from '../src/access/sign-in/password.ts'
import { findUser, membershipsOf } from '../src/access/sign-in/user.ts'
import type { App } from '../src/app.ts'
import type { Values } from '../src/cli/command.ts'
import { NO_STOP } from '../src/cli/stop.ts'
import { userCommands } from '../src/cli/user.ts'
import { readConfig } from '../src/config.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'

const db = await database(t)
const { pipeline } = db.postgres
const [one, two] = [await makeBrand(db, { name: 'One' }), await makeBrand(db, { name: 'Two' })]
const config = readConfig({ SECRET_KEY: 'k'.repeat(32), BASE_URL: 'https://recoup.example' })
const app = { config, postgres: db.postgres } as App

interface Result {
  email: string
  password: string | null
  access_token: string
}

const run = async (name: string, values: Values): Promise<Result> => {
  const command = userCommands.find((one) => one.name === name)
  const progress = () => {
    throw new Error('not used')
  }
  const given = { config, values, positionals: [], app: async () => app, progress, stop: NO_STOP }
  return (await command?.run(given)) as Result
}
const stored = async (email: string) => (await findUser(pipeline, email))?.password_hash

t.test('a user is made with a password that is shown once', async (t) => {
  const { email, password } = await run('user create', { brand: 'One', email: 'New@D.co', role: 'admin' })
  t.equal(email, 'new@d.co')
  t.ok(await isPassword(String(password), await stored(email)))
})

t.test('a user who exists joins another brand, or gets another role', async (t) => {
  const before = await stored('new@d.co')
  for (const role of ['admin', 'member']) {
    const { password } = await run('user create', { brand: two.id, email: 'new@d.co', role })
    t.equal(password, null)
  }
  t.equal(await stored('new@d.co'), before)
  const user = await findUser(pipeline, 'new@d.co')
  t.match(await membershipsOf(pipeline, String(user?.id)), [
    { name: 'One', role: 'admin' },
    { name: 'Two', role: 'member' },
  ])
})

t.test('staff are made so by name', async (t) => {
  await run('user create', { brand: 'One', email: 'staff@d.co', role: 'member', staff: true })
  t.equal((await findUser(pipeline, 'staff@d.co'))?.is_staff, true)
  t.equal((await findUser(pipeline, 'new@d.co'))?.is_staff, false)
})

t.test('all who work for a brand are listed by email', async (t) => {
  const { data } = (await run('user list', { brand: 'One' })) as unknown as { data: object[] }
  t.match(data, [
    { email: 'new@d.co', role: 'admin', is_staff: false, disabled_at: null },
    { email: 'staff@d.co', role: 'member', is_staff: true, disabled_at: null },
  ])
})

t.test('a token is for one brand and for scopes of the role', async (t) => {
  const signIn = await openSignIn({
    pipeline,
    seal: createSeal('k'.repeat(32)),
    baseUrl: 'https://recoup.example/',
  })
  await t.rejects(run('token', { user: 'new@d.co', scopes: 'brand:read' }), /--brand is missing.*One, Two/)
  await t.rejects(
    run('token', { user: 'new@d.co', scopes: 'keys:manage', brand: 'Two' }),
    /not a scope that a user with the role member can have/,
  )
  await t.rejects(run('token', { user: 'nobody@d.co', scopes: 'brand:read' }), /no user/)
  await t.rejects(
    run('token', { user: 'staff@d.co', scopes: 'brand:read', brand: 'Two' }),
    /does not belong to it, but to One/,
  )
  const { access_token } = await run('token', {
    user: 'new@d.co',
    scopes: 'brand:read, keys:manage',
    brand: 'One',
    ttl: '60',
  })
  t.match(await signIn.verify(access_token), {
    caller: {
      kind: 'token',
      role: 'admin',
      scopes: ['brand:read', 'keys:manage'],
      clientId: 'recoup-command',
    },
    brand: { id: one.id },
  })
  const later = await openSignIn({ ...signIn, baseUrl: signIn.issuer, now: () => Date.now() + 70_000 })
  t.equal(await later.verify(access_token), undefined)
  const elsewhere = await openSignIn({ ...signIn, baseUrl: 'https://other.example' })
  t.equal(await elsewhere.verify(access_token), undefined)

  await run('user remove', { brand: 'One', email: 'new@d.co' })
  signIn.forget('user', String((await findUser(pipeline, 'new@d.co'))?.id))
  t.equal(await signIn.verify(access_token), undefined, 'and ends with the membership')
})

t.test('a change of a user returns once every server has been asked to go by it', async (t) => {
  const email = 'changed@d.co'
  const of = { brand: 'One', email }
  await run('user create', { ...of, role: 'admin' })
  const id = String((await findUser(pipeline, email))?.id)
  const { sql } = db.postgres
  let told: string[] = []
  const ended = new Map<string, () => void>()
  const { unlisten } = await sql.listen('recoup_access', (said) => {
    told.push(said)
    ended.get(said)?.()
  })
  t.teardown(unlisten)
  for (const [name, values] of [
    ['user create', { ...of, role: 'member' }],
    ['user password', { email }],
    ['user remove', of],
  ] as const) {
    told = []
    await run(name, values)
    const end = `end ${randomUUID()}`
    const heard = new Promise<void>((resolve) => ended.set(end, resolve))
    await sql.notify('recoup_access', end)
    await heard
    const fence = told.findLastIndex((said) => said.startsWith('fence '))
    t.ok(told.lastIndexOf(`user ${id}`) >= 0, `${name} is told`)
    t.ok(fence > told.lastIndexOf(`user ${id}`), `${name} is waited for`)
  }
})

t.test('with the last membership the account goes, its sessions and grants with it', async (t) => {
  const { sql } = db.postgres
  const email = 'leaver@d.co'
  for (const brand of ['One', 'Two']) await run('user create', { brand, email, role: 'member' })
  const id = String((await findUser(pipeline, email))?.id)
  for (const [brand, hash] of [
    [one, 'a'],
    [two, 'b'],
  ] as const) {
    await sql`
      insert into web_session (id, user_id, brand_id, expires_at)
      values (${hash}, ${id}, ${brand.id}, now() + interval '1 day')`
    await sql`
      insert into sign_in_grant (id, user_id, brand_id, client_id, expires_at)
      values (${hash}, ${id}, ${brand.id}, 'c', now() + interval '1 day')`
    await sql`
      insert into oidc_record (model, id, content, grant_id)
      values
        ('Grant', sha256(convert_to(${hash}, 'UTF8')), '', null),
        ('RefreshToken', ${Buffer.from(hash)}, '', ${hash})`
  }
  const left = async () => {
    const [row] = await sql`
      select
        (select count(*) from web_session where user_id = ${id})::integer as sessions,
        (select count(*) from sign_in_grant where user_id = ${id})::integer as grants,
        (select count(*) from oidc_record where content = '')::integer as records`
    return row
  }
  t.match(await run('user remove', { brand: 'One', email }), { account_removed: false })
  t.ok(await findUser(pipeline, email), 'not before')
  t.same(await left(), { sessions: 1, grants: 1, records: 2 })
  const removed = await run('user remove', { brand: 'Two', email })
  t.match(removed, { account_removed: true })
  t.notOk(await findUser(pipeline, email))
  t.same(await left(), { sessions: 0, grants: 0, records: 0 })
  const command = userCommands.find(({ name }) => name === 'user remove')
  t.match(command?.text?.(removed as never), /the account was removed\.$/)
})

t.test('a new password is shown once', async (t) => {
  const { password } = await run('user password', { email: 'new@d.co' })
  t.ok(await isPassword(String(password), await stored('new@d.co')))
})

t.test('what cannot be is refused by name', async (t) => {
  await t.rejects(run('user create', { brand: 'One', email: 'a@d.co', role: 'owner' }), /--role/)
  await t.rejects(run('user create', { brand: 'Three', email: 'a@d.co', role: 'admin' }), /--brand/)
  await t.rejects(run('user remove', { brand: 'One', email: 'new@d.co' }), /does not belong/)
})
