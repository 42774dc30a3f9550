/**
 * The command line of the MCP inspector against /mcp with an API key: it lists the tools and calls one. Not part of
 * `make test`: it installs the inspector from the npm registry into a temporary folder.
 *
 *   node_modules/.bin/node test/conformance/inspector.ts
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { createKey } from '../../src/access/key.ts'
import { setLogLevel } from '../../src/log.ts'
import { brand as makeBrand } from '../fixtures/brand.ts'
import { database } from '../fixtures/database.ts'
import { signInServer } from '../fixtures/sign-in-server.ts'

const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0'

setLogLevel('error')
t.setTimeout(300_000)
const folder = mkdtempSync(join(tmpdir(), 'recoup-inspector-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const quietly = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error']
execFileSync('npm', ['install', '--prefix', folder, ...quietly, INSPECTOR], { stdio: 'inherit' })

const db = await database(t)
const brand = await makeBrand(db)
const { base } = await signInServer(t, db)
const { plaintext } = await createKey(db.postgres.forBrand(brand.id), { scopes: ['brand:read'] })

/** What it prints; it keeps what it stores in the folder. */
async function inspect(...args: string[]): Promise<string> {
  const address = ['--cli', `${base}/mcp`, '--transport', 'http', '--format', 'json']
  const credential = ['--header', `Authorization: Bearer ${plaintext}`]
  // Under the Node that this runs under.
  const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder }
  const program = join(folder, 'node_modules/.bin/mcp-inspector')
  return (await promisify(execFile)(program, [...address, ...credential, ...args], { env, cwd: folder }))
    .stdout
}

t.test('lists the tools of a key', async (t) => {
  const listed = await inspect('--method', 'tools/list')
  t.match(listed, /"get_brand"/)
  t.notMatch(listed, /"note_thing"/, 'which are those of its scopes')
})

t.test('calls a tool with a key', async (t) => {
  t.match(await inspect('--method', 'tools/call', '--tool-name', 'get_brand'), brand.id)
})
