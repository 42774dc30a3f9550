import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createSeal, openSeal } from '../src/access/seal.ts'
import { serviceSecret } from '../src/access/secret.ts'
import { hashPassword, isPassword, makePassword, passwordProblem } from '../src/access/sign-in/password.ts'
import { createUser } from '../src/access/sign-in/user.ts'
import { database } from './fixtures/database.ts'

const { postgres } = await database(t)

t.test('a password', async (t) => {
  t.test('is stored as an scrypt hash that fits nothing else', async (t) => {
    const stored = await hashPassword('grüße 🦆 long')
    t.match(stored, /^\$scrypt\$ln=17,r=8,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    t.ok(await isPassword('grüße 🦆 long', stored))
    t.ok(await isPassword('grüße 🦆 long'.normalize('NFD'), stored), 'however a keyboard composes it')
    t.notOk(await isPassword('grüße 🦆 lonG', stored))
    t.notOk(await isPassword('', undefined), 'nor when there is no account')
  })
  t.test('has 12 to 256 characters', async (t) => {
    t.match(passwordProblem('x'.repeat(11)), /12 to 256/)
    t.match(passwordProblem('x'.repeat(257)), /12 to 256/)
    t.equal(passwordProblem('🦆'.repeat(12)), null)
    await t.rejects(createUser(postgres.pipeline, { email: 'short@b.co', password: 'short' }), {
      code: 'bad_request',
    })
  })
  t.test('can be made', async (t) => {
    t.match(makePassword(), /^([a-z2-9]{5}-){3}[a-z2-9]{5}$/)
    t.not(makePassword(), makePassword())
  })
  t.test('belongs to one account, however its email is written', async (t) => {
    await createUser(postgres.pipeline, { email: ' New@B.co', password: 'a long password' })
    await t.rejects(createUser(postgres.pipeline, { email: 'new@b.co', password: 'a long password' }), {
      code: 'conflict',
    })
    await t.rejects(createUser(postgres.pipeline, { email: 'nonsense', password: 'a long password' }), {
      code: 'bad_request',
    })
  })
})

t.test('secrets', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'recoup-secret-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const seal = createSeal('k'.repeat(32))

  t.test('are sealed where they are stored, also those from before', async (t) => {
    const plain = Buffer.alloc(32, 5)
    await postgres.sql`insert into secret (name, value) values ('old', ${plain})`
    t.same(await serviceSecret(postgres.pipeline, 'old', seal), plain)
    const made = await serviceSecret(postgres.pipeline, 'new', seal)
    t.same(await serviceSecret(postgres.pipeline, 'new', seal), made)
    for (const [name, value] of Object.entries({ old: plain, new: made })) {
      const [row] = await postgres.sql`select value, sealed from secret where name = ${name}`
      t.equal(row?.sealed, true)
      t.notOk(Buffer.from(row?.value).includes(value))
    }
    t.same(await serviceSecret(postgres.pipeline, 'old', seal), plain)
    await t.rejects(
      serviceSecret(postgres.pipeline, 'old', createSeal('z'.repeat(32))),
      /SECRET_KEY is not the one/,
    )
  })
  t.test('open in their own place only, and whole', async (t) => {
    const sealed = seal.seal(Buffer.from('content'), 'here')
    t.equal(seal.open(sealed, 'here').toString(), 'content')
    t.throws(() => seal.open(sealed, 'there'), /SECRET_KEY is not the one/)
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      t.throws(() => seal.open(changed, 'here'), `byte ${at}`)
    }
    t.throws(() => seal.open(Buffer.alloc(0), 'here'))
  })
  t.test('are sealed with a key in the data folder that only its owner reads', async (t) => {
    const dataDir = join(folder, 'new', 'data')
    const seals = Array.from({ length: 3 }, () => openSeal({ secretKey: null, dataDir }))
    const path = join(dataDir, 'secret-key')
    t.equal(statSync(path).mode & 0o777, 0o600)
    t.match(readFileSync(path, 'utf8'), /^[\w-]{43}\n$/)
    const sealed = seals[0]?.seal(Buffer.from('x'), 'here') as Buffer
    for (const one of seals) t.equal(one.open(sealed, 'here').toString(), 'x')
    t.throws(
      () => openSeal({ secretKey: 's'.repeat(32), dataDir }).open(sealed, 'here'),
      'SECRET_KEY goes first',
    )
    writeFileSync(path, 'short')
    t.throws(() => openSeal({ secretKey: null, dataDir }), /at least 32 characters/)
  })
})
