import type { Duck } from '../../store/duckdb.ts'
import { type ImportKind, TARGETS } from './targets.ts'

/** Refuses rows with a time ahead that has not been: clocks differ, and zones that a file does not name, by less than a day. */
export async function refuseAhead(duck: Duck, kind: ImportKind): Promise<void> {
  const latest = `timestamp '${new Date().toISOString().slice(0, -1)}' + interval 24 hours`
  for (const [name, { isPast }] of Object.entries(TARGETS[kind]))
    if (isPast)
      await duck.run(`insert into fault
        select n, '${name}', ${name}::varchar, 'is more than 24 hours ahead'
        from picked
        where ${name} > ${latest} and n not in (select n from fault)`)
}
