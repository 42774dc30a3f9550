import { readdirSync, readFileSync } from 'node:fs'
import type { Sql } from '../src/store/postgres.ts'

const TICKS_PER_SECOND = 100

/** Seconds of CPU that the processes of a Postgres of this machine have used so far, those that ended included. */
export async function postgresCpu(sql: Sql): Promise<number> {
  const [{ pid = 0 } = {}] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  // After the name in parentheses: state, parent, …, then the user, system, and ended children's ticks.
  const statOf = (of: string | number) =>
    readFileSync(`/proc/${of}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  const postmaster = statOf(pid)[1] ?? ''
  const ticks = (stat: readonly string[], columns: readonly number[]) =>
    columns.reduce((sum, column) => sum + Number(stat[column]), 0)
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = statOf(name)
        return stat[1] === postmaster ? [ticks(stat, [11, 12])] : []
      } catch {
        return []
      }
    })
  const all = children.reduce((sum, one) => sum + one, ticks(statOf(postmaster), [11, 12, 13, 14]))
  return all / TICKS_PER_SECOND
}
