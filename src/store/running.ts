import type postgres from 'postgres'
import { SESSION_OF } from './postgres.ts'

/**
 * What runs on a database. A server that is asked nothing is on no list, but has its session; behind a pooler of
 * sessions the list alone tells.
 */
export async function runningOn(sql: postgres.Sql): Promise<{ server: boolean; worker: boolean }> {
  const [runs] = await sql<{ server: boolean; worker: boolean }[]>`
    select
      coalesce(bool_or(application_name = ${SESSION_OF.server}), false)
        or exists (select from server_process where seen_at > now() - interval '2 minutes') as server,
      coalesce(bool_or(application_name = ${SESSION_OF.worker}), false) as worker
    from pg_stat_activity where datname = current_database()`
  return runs ?? { server: false, worker: false }
}
