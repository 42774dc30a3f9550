import type { Duck } from '../store/duckdb.ts'
import { makeTable } from '../store/duckdb-table.ts'
import type { Batch } from './batches.ts'
import { lastUpTo } from './last-up-to.ts'
import type { Pipeline } from './pipeline.ts'

interface Cut {
  brand_id: string
  cut_below: string
  erased_at: Date
}

/** What committed before a cut of its brand happened before it, also by the clock of a host that is ahead. */
export async function putBeforeCuts(
  { postgres }: Pipeline,
  duck: Duck,
  batches: readonly Pick<Batch, 'xid'>[],
  firstLines: readonly number[],
): Promise<void> {
  const brands = await duck.rows<{ id: string }>('select id from brands semi join lines on brand_id = id')
  const cuts = await postgres.pipeline.many<Cut>('cuts_after', [brands.map(({ id }) => id), batches[0]?.xid])
  if (cuts.length === 0) return
  const rows = [...Map.groupBy(cuts, (cut) => cut.brand_id).values()].flatMap((theirs) =>
    spansOf(theirs, batches, firstLines),
  )
  await makeTable(
    duck,
    'cut',
    { brand_id: 'VARCHAR', first_n: 'BIGINT', end_n: 'BIGINT', cut_at: 'TIMESTAMP' },
    rows,
  )
  await duck.run(
    `update line_rows set occurred_at = cut_at
     from cut
     where cut.brand_id = line_rows.brand_id and line_rows.rowid >= first_n and line_rows.rowid < end_n
       and occurred_at > cut_at`,
  )
}

/** Which lines a cut is the next one after. */
function spansOf(
  cuts: readonly Cut[],
  batches: readonly Pick<Batch, 'xid'>[],
  firstLines: readonly number[],
): [brandId: string, first: number, end: number, cutAt: Date][] {
  const xids = batches.map(({ xid }) => Number(xid))
  let first = 0
  return cuts.map(({ brand_id, cut_below, erased_at }) => {
    const span = first
    first = firstLines[lastUpTo(xids, Number(cut_below) - 1) + 1] ?? Number.MAX_SAFE_INTEGER
    return [brand_id, span, first, erased_at]
  })
}
