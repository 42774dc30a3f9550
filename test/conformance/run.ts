/**
 * The conformance suite of the Model Context Protocol against /mcp and the authorization server. Not part of `make test`: it installs the suite from
 * the npm registry into a temporary folder.
 *
 *   node_modules/.bin/node test/conformance/run.ts [scenario…]
 *
 * The suite cannot send a credential, so a loopback proxy in between adds an API key. Checks that need tools of the
 * suite's own example server are listed below; everything else must pass.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createProxy, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createAuthenticator } from '../../src/access/authenticate.ts'
import { createCursors } from '../../src/access/cursor.ts'
import { createKey } from '../../src/access/key.ts'
import { mcpRoutes } from '../../src/http/mcp.ts'
import { createServer } from '../../src/http/server.ts'
import { setLogLevel } from '../../src/log.ts'
import { brandOps } from '../../src/ops/brand.ts'
import { brand as makeBrand } from '../fixtures/brand.ts'
import { database } from '../fixtures/database.ts'
import { signInServer } from '../fixtures/sign-in-server.ts'

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'

const SCENARIOS: readonly [name: string, ...versions: string[]][] = [
  ['server-initialize', '2025-11-25'],
  ['ping', '2025-11-25'],
  ['tools-list', '2025-11-25', '2026-07-28'],
  ['http-header-validation', '2026-07-28'],
  ['server-stateless', '2026-07-28'],
  ['dns-rebinding-protection', '2025-11-25', '2026-07-28'],
]

/** Of the authorization server, which takes no credential. */
const AUTHORIZATION: readonly string[] = ['authorization-server-metadata-endpoint']

/** Checks that call tools of the suite's own example server, which no other server has. */
const EXAMPLE_ONLY: readonly string[] = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
]

interface Check {
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  errorMessage?: string
}

const undo: (() => unknown)[] = []
try {
  setLogLevel('error')
  process.exitCode = await run()
} finally {
  for (const step of undo.reverse()) await step()
}

async function run(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'recoup-conformance-'))
  undo.push(() => rmSync(folder, { recursive: true, force: true }))
  const npm = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    SUITE,
  ]
  execFileSync('npm', npm, { stdio: 'inherit' })
  const suite = join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  const wanted = process.argv.slice(2)
  const isWanted = (scenario: string) => wanted.length === 0 || wanted.includes(scenario)
  const run = { suite, folder }
  let failures = 0
  const url = await serve()
  for (const [scenario, ...versions] of SCENARIOS.filter(([name]) => isWanted(name)))
    for (const version of versions)
      failures += await check(run, `${scenario} ${version}`, [
        ...['server', '--url', url, '--scenario', scenario],
        ...['--spec-version', version],
      ])
  const issuer = await serveSignIn()
  for (const scenario of AUTHORIZATION.filter(isWanted))
    failures += await check(run, scenario, ['authorization', '--url', issuer, '--scenario', scenario])
  return failures > 0 ? 1 : 0
}

/** The address of a proxy that adds an API key, in front of a server on a real database. */
async function serve(): Promise<string> {
  const { postgres } = await database({ teardown: (step) => void undo.push(step) })
  const brand = await makeBrand({ postgres })
  const authenticator = createAuthenticator(postgres.pipeline)
  undo.push(() => authenticator.settled())
  const { plaintext } = await createKey(postgres.forBrand(brand.id), { scopes: ['brand:read'] })
  const server = createServer(
    mcpRoutes(brandOps, {
      authenticate: authenticator.authenticate,
      db: postgres.forBrand,
      lake: () => {
        throw new Error('there is no lake here')
      },
      cursors: createCursors(Buffer.alloc(32, 7)),
      baseUrl: 'http://localhost',
    }),
  )
  const port = await server.listen('127.0.0.1', 0)
  undo.push(() => server.drain(0))
  const proxy = createProxy((sent, answer) => {
    const headers = { ...sent.headers, authorization: `Bearer ${plaintext}` }
    const passed = request(
      { host: '127.0.0.1', port, method: sent.method, path: sent.url, headers },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers)
        response.pipe(answer)
      },
    )
    passed.on('error', () => answer.destroy())
    sent.pipe(passed)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  undo.push(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`
}

/** The issuer of a service with sign-in. */
async function serveSignIn(): Promise<string> {
  const test = { teardown: (step: () => unknown) => void undo.push(step) }
  return (await signInServer(test, await database(test))).base
}

/** Runs one scenario and prints what came of its checks; the number that failed. */
async function check(run: { suite: string; folder: string }, title: string, args: readonly string[]) {
  const { suite, folder } = run
  const results = mkdtempSync(join(folder, 'results-'))
  // Not the synchronous form: the server runs in this process.
  const running = promisify(execFile)(process.execPath, [suite, ...args, '-o', results], { cwd: folder })
  await running.catch(() => {})
  const file = readdirSync(results, { recursive: true, encoding: 'utf8' }).find((name) =>
    name.endsWith('checks.json'),
  )
  if (!file) throw new Error(`${title} did not run`)
  const checks = JSON.parse(readFileSync(join(results, file), 'utf8')) as Check[]
  const of = (...statuses: Check['status'][]) => checks.filter(({ status }) => statuses.includes(status))
  const failed = of('FAILURE', 'WARNING').filter(({ id }) => !EXAMPLE_ONLY.includes(id))
  const excused = of('FAILURE').length + of('WARNING').length - failed.length
  const counts = [
    `${of('SUCCESS').length} passed`,
    `${failed.length} failed`,
    ...(excused ? [`${excused} of the example server only`] : []),
    ...(of('SKIPPED').length ? [`${of('SKIPPED').length} skipped`] : []),
  ]
  console.log(`${title.padEnd(39)} ${counts.join(', ')}`)
  for (const { id, errorMessage } of failed) console.log(`  ${id}: ${errorMessage}`)
  return failed.length
}
