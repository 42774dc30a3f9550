import { tmpdir } from 'node:os'
import t from 'tap'
import { openDuck } from '../src/store/duckdb.ts'
import { knownTimezone } from '../src/time.ts'
import { database } from './fixtures/database.ts'

/** Names of today that ICU lists by an older one only, and names without a city. */
const UNLISTED = [
  'Asia/Kolkata',
  'Asia/Ho_Chi_Minh',
  'Asia/Kathmandu',
  'Europe/Kyiv',
  'America/Argentina/Buenos_Aires',
  'America/Indiana/Indianapolis',
  'US/Eastern',
  'EST',
  'GMT',
  'UTC',
  'Etc/GMT+5',
  'asia/kolkata',
]
const INSTANTS = ['2026-01-15T22:30:00Z', '2026-07-15T22:30:00Z'].map((text) => new Date(text))

const clockOf = (timeZone: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })

t.test('the clocks of a time zone that is known are the same for DuckDB, Postgres and us', async (t) => {
  const duck = await openDuck({ memoryMb: 64, threads: 1, tempDir: tmpdir() })
  t.teardown(() => duck.close())
  const { postgres } = await database(t)
  const names = [...Intl.supportedValuesOf('timeZone'), ...UNLISTED]
  t.same(
    names.filter((name) => knownTimezone(name) === undefined),
    [],
  )
  const asked = names.flatMap((name) => INSTANTS.map((at) => ({ name, at })))
  const ours = names.flatMap((name) => INSTANTS.map(clockOf(name).format))
  const columns = [asked.map(({ name }) => name), asked.map(({ at }) => at.toISOString())] as const
  const inDuck = await duck.rows<{ said: string }>(
    `select strftime(timezone(name, moment::timestamptz), '%Y-%m-%d %H:%M:%S') as said
     from (select unnest($1::json::varchar[]) as name, unnest($2::json::varchar[]) as moment)`,
    columns.map((column) => JSON.stringify(column)),
  )
  t.same(
    inDuck.map(({ said }) => said),
    ours,
  )
  const inPostgres = await postgres.sql<{ said: string }[]>`
    select to_char(at at time zone name, 'YYYY-MM-DD HH24:MI:SS') as said
    from unnest(${columns[0]}::text[], ${columns[1]}::timestamptz[]) with ordinality as asked (name, at, n) order by n`
  t.same(
    inPostgres.map(({ said }) => said),
    ours,
  )
})
