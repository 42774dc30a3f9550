import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { signInScopes } from '../access/scopes.ts'
import { serviceSeal } from '../access/service-seal.ts'
import { makePassword } from '../access/sign-in/password.ts'
import { signingKey } from '../access/sign-in/signing-key.ts'
import { issueToken } from '../access/sign-in/token.ts'
import {
  changePassword,
  createUser,
  endMembership,
  findUser,
  type Membership,
  membershipsOf,
  membersOf,
  setMembership,
} from '../access/sign-in/user.ts'
import type { App } from '../app.ts'
import { choiceOption, command, integerOption, required, text, UsageError, type Values } from './command.ts'
import { everywhere } from './everywhere.ts'
import { brand, brandOf, ofBrand } from './of-brand.ts'
import { heedInterrupt } from './stop.ts'
import { table } from './table.ts'

const email = { type: 'string', required: true, placeholder: 'EMAIL', what: 'Email of the user' } as const
const stdin = { type: 'boolean', what: 'Read the password from standard input' } as const
const DAY = 24 * 3600

export const userCommands = [
  command({
    name: 'user create',
    what: 'Make a user, or let one work for another brand',
    options: {
      brand,
      email,
      role: { type: 'string', required: true, placeholder: 'ROLE', what: 'admin or member' },
      staff: { type: 'boolean', what: 'Staff of the service, who may act for every brand' },
      'password-stdin': stdin,
    },
    run: async (run) => {
      const { values } = run
      const role = choiceOption(values, 'role', ['admin', 'member'])
      const { app, brand: found } = await ofBrand(run)
      const { id: brandId, name } = found
      const { pipeline } = app.postgres
      const isStaff = values.staff === true
      const known = await findUser(pipeline, required(values, 'email'))
      if (known) {
        await pipeline.tx(async (tx) => {
          if (isStaff) await tx.run('user_set_staff', [known.id])
          await setMembership(tx, { brandId, userId: known.id, role })
        })
        await everywhere(app)
        return {
          user_id: known.id,
          email: known.email,
          brand_id: brandId,
          brand: name,
          role,
          made: false,
          password: null,
        }
      }
      const { password, isMade } = await newPassword(values)
      const user = await pipeline.tx(async (tx) => {
        const made = await createUser(tx, { email: required(values, 'email'), password, isStaff })
        await setMembership(tx, { brandId, userId: made.id, role })
        return made
      })
      return {
        user_id: user.id,
        email: user.email,
        brand_id: brandId,
        brand: name,
        role,
        made: true,
        password: isMade ? password : null,
      }
    },
    text: ({ email, brand, role, made, password }) =>
      [
        `${email} ${made ? 'can sign in' : 'has an account already'}, and is ${role} of ${brand}.`,
        ...(password ? [`Password, shown this once: ${password}`] : []),
      ].join('\n'),
  }),
  command({
    name: 'user list',
    what: 'List who may sign in for a brand',
    options: { brand },
    run: async (run) => {
      const { app, brand: found } = await ofBrand(run)
      return { data: await membersOf(app.postgres.pipeline, found.id) }
    },
    text: ({ data }) =>
      table(
        ['email', 'role', 'staff', 'disabled_at'],
        data.map((one) => [one.email, one.role, one.is_staff ? 'yes' : 'no', one.disabled_at]),
      ),
  }),
  command({
    name: 'user password',
    what: 'Give a user a new password and end all sign-ins',
    options: { email, 'password-stdin': stdin },
    run: async ({ app: open, values }) => {
      const app = await open()
      const { pipeline } = app.postgres
      const user = await userOf(pipeline, required(values, 'email'))
      const { password, isMade } = await newPassword(values)
      await pipeline.tx((tx) => changePassword(tx, user.id, password))
      await everywhere(app)
      return { user_id: user.id, email: user.email, password: isMade ? password : null }
    },
    text: ({ email, password }) =>
      `${email} has a new password${password ? `, shown this once: ${password}` : ''}.\nAll sign-ins of the user have ended.`,
  }),
  command({
    name: 'user remove',
    what: 'Take a user from a brand and end the sign-ins for it; without another brand the account is removed',
    options: { brand, email },
    run: async (run) => {
      const { app, brand: found } = await ofBrand(run)
      const { id: brandId, name } = found
      const user = await userOf(app.postgres.pipeline, required(run.values, 'email'))
      const { ended, accountRemoved } = await app.postgres.pipeline.tx((tx) =>
        endMembership(tx, { brandId, userId: user.id }),
      )
      if (!ended) throw new UsageError(`--email: ${user.email} does not belong to ${name}`)
      await everywhere(app)
      return {
        user_id: user.id,
        email: user.email,
        brand_id: brandId,
        brand: name,
        account_removed: accountRemoved,
      }
    },
    text: ({ email, brand, account_removed }) =>
      `${email} no longer belongs to ${brand}${account_removed ? ', nor to any brand: the account was removed' : ''}.`,
  }),
  command({
    name: 'token',
    what: 'Make an access token of a user, for scripts; shown this once',
    options: {
      user: { type: 'string', required: true, placeholder: 'EMAIL', what: 'Email of the user' },
      scopes: { type: 'string', required: true, placeholder: 'A,B', what: 'Scopes, separated by commas' },
      brand: { ...brand, required: false, what: 'Id, shop or name; needed when the user has several' },
      ttl: {
        type: 'string',
        placeholder: 'SECONDS',
        what: 'How long it is valid, 60 to 2592000 (default 3600)',
      },
    },
    run: async ({ app: open, values, config }) => {
      const ttlSeconds = integerOption(values, 'ttl', 3600, 60, 30 * DAY)
      const app = await open()
      const { pipeline } = app.postgres
      const user = await userOf(pipeline, required(values, 'user'))
      const membership = await membershipOf(app, user, text(values, 'brand'))
      const scopes = scopesFor(membership, required(values, 'scopes'))
      const key = await signingKey(pipeline, await serviceSeal(app))
      const issuer = new URL(config.baseUrl).origin
      const brandId = membership.brand_id
      const token = await issueToken(
        pipeline,
        { key, issuer },
        { userId: user.id, brandId, scopes, ttlSeconds },
      )
      return {
        access_token: token,
        token_type: 'Bearer',
        expires_in: ttlSeconds,
        scope: scopes.join(' '),
        brand_id: brandId,
      }
    },
    text: ({ access_token }) => access_token,
  }),
]

type Pipeline = App['postgres']['pipeline']

async function userOf(pipeline: Pipeline, email: string): Promise<{ id: string; email: string }> {
  const user = await findUser(pipeline, email)
  if (!user || user.disabled_at) throw new UsageError(`There is no user "${email}". See recoup user list`)
  return user
}

async function membershipOf(
  app: App,
  user: { id: string; email: string },
  wanted: string | undefined,
): Promise<Membership> {
  const all = await membershipsOf(app.postgres.pipeline, user.id)
  const brandId = wanted === undefined ? undefined : (await brandOf(app, wanted)).id
  const found = all.filter(({ brand_id }) => brandId === undefined || brand_id === brandId)
  const [only, another] = found
  const names = all.map(({ name }) => name).join(', ')
  if (!only)
    throw new UsageError(`--brand: ${user.email} does not belong to it${names && `, but to ${names}`}`)
  if (another) throw new UsageError(`--brand is missing: ${user.email} belongs to ${names}`)
  return only
}

function scopesFor({ role }: Membership, list: string): string[] {
  const scopes = [...new Set(list.split(',').map((scope) => scope.trim()))]
  const allowed = signInScopes(role)
  for (const scope of scopes)
    if (!allowed.includes(scope))
      throw new UsageError(
        `--scopes: "${scope}" is not a scope that a user with the role ${role} can have. Known: ${allowed.join(', ')}`,
      )
  return scopes
}

/** From standard input, from whoever sits at the terminal, or made. */
async function newPassword(values: Values): Promise<{ password: string; isMade: boolean }> {
  const typed = values['password-stdin'] ? (await textOf(process.stdin)).replace(/\r?\n$/, '') : await asked()
  return typed || values['password-stdin']
    ? { password: typed, isMade: false }
    : { password: makePassword(), isMade: true }
}

/** Without showing it; empty without a terminal. */
async function asked(): Promise<string> {
  if (!process.stdin.isTTY) return ''
  process.stderr.write('Password (leave empty to have one made): ')
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output, terminal: true })
  heedInterrupt(reader)
  try {
    return await reader.question('')
  } finally {
    reader.close()
    process.stderr.write('\n')
  }
}
