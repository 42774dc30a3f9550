import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CHECKOUT } from '../src/config.ts'
import { REASONS } from '../src/connect/custom/refuse.ts'
import { templateOf } from '../src/connect/custom/templates.ts'
import { STATUS } from '../src/errors.ts'
import { database } from './fixtures/database.ts'
import { hooks } from './fixtures/webhook.ts'

const page = readFileSync(join(CHECKOUT, 'docs/webhooks.md'), 'utf8')

t.test('the page for integrators has every reason with its status', async (t) => {
  const listed = [...page.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, reason, status]) => [
    reason,
    Number(status),
  ])
  const own = Object.entries(REASONS).map(([reason, code]) => [reason, STATUS[code]])
  t.same(listed.filter(([reason]) => reason !== 'bad_request').sort(), own.sort())
})

t.test('its examples deliver', async (t) => {
  const { source, port } = await hooks(t, await database(t))
  const { webhookId, secret } = await source(undefined, [...templateOf('loyalty_points').event_definitions])
  const env = { ...process.env, HOOK: `http://127.0.0.1:${port}/custom/${webhookId}`, SECRET: secret }
  const run = async (program: string, args: string[], pattern: RegExp) => {
    const child = spawn(program, args, { env })
    child.stdin.end(pattern.exec(page)?.[1])
    let output = ''
    for await (const part of child.stdout) output += part
    return output
  }
  const node = await run(process.execPath, ['--input-type=module', '-'], /```js\n(.*?)```/s)
  t.match(node, /status: 200,\s+ok: true/)
  t.test('with curl', { skip: !(await has('curl', 'openssl')) && 'no curl or openssl here' }, async (t) => {
    const shell = await run('sh', [], /```sh\nexport HOOK=.*?\n(.*?)```/s)
    t.same(JSON.parse(shell), { deduplicated: true }, 'the same event id')
  })
})

const has = async (...programs: string[]) => {
  for (const program of programs) {
    const child = spawn(program, ['--version'], { stdio: 'ignore' })
    const found = await new Promise((resolve) => {
      child.on('error', () => resolve(false))
      child.on('close', () => resolve(true))
    })
    if (!found) return false
  }
  return true
}
