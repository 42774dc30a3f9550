import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import type { Db, Statements } from '../../src/op.ts'

/**
 * One tick of the lake in a process of its own that kills itself before its n-th step: each statement sent to Postgres
 * and each call that touches files is one. Prints how many there were when it is not killed (0).
 */
const [url = '', lakeDir = '', killAt = '0'] = process.argv.slice(2)
let steps = 0

function step(): void {
  if (++steps === Number(killAt)) process.kill(process.pid, 'SIGKILL')
}

type Callable = (...args: never[]) => unknown

/** The same object whose functions are steps. */
function stepping<T extends object>(of: T, names: readonly (keyof T)[]): T {
  const made = { ...of }
  for (const name of names) {
    const call = of[name] as Callable
    made[name] = ((...args: never[]) => {
      step()
      return call(...args)
    }) as T[keyof T]
  }
  return made
}

Object.assign(fs, stepping(fs, ['mkdir', 'open', 'readFile', 'rename', 'rm', 'stat', 'writeFile']))
syncBuiltinESMExports()

// After the functions of files were replaced.
const { createPipeline } = await import('../../src/lake/pipeline.ts')
const { snapshot } = await import('../../src/lake/snapshot.ts')
const { openPostgres } = await import('../../src/store/postgres.ts')

const STATEMENTS: readonly (keyof Statements)[] = ['one', 'many', 'maybe', 'run']
const postgres = openPostgres(url)
const db: Db = stepping(postgres.pipeline, STATEMENTS)
const pipeline = createPipeline({
  postgres: {
    ...postgres,
    pipeline: { ...db, tx: (work) => postgres.pipeline.tx((tx) => work(stepping(tx, STATEMENTS))) },
    sql: new Proxy(postgres.sql, {
      apply: (sql, _self, args: Parameters<typeof postgres.sql>) => {
        step()
        return sql(...args)
      },
    }),
  },
  lakeDir,
  storePlatformDomain: 'myshopify.com',
  memoryMb: 512,
  threads: 1,
})
await snapshot(pipeline)
step()
process.stdout.write(`${steps}\n`)
await postgres.close()
