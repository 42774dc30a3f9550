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

t.test('a new password is shown once', async (t) => {
  const { password } = await run('user password', { email: 'new@d.co' })
  t.ok(await isPassword(String(password), await stored('new@d.co')))
})

t.test('what cannot be is refused by name', async (t) => {
  await t.rejects(run('user create', { brand: 'One', email: 'a@d.co', role: 'owner' }), /--role/)
  await t.rejects(run('user create', { brand: 'Three', email: 'a@d.co', role: 'admin' }), /--brand/)
  await t.rejects(run('user remove', { brand: 'One', email: 'new@d.co' }), /does not belong/)
})
