import { fail } from '../../errors.ts'
import { log } from '../../log.ts'
import type { Db, Statements } from '../../op.ts'
import { applyRecords } from './apply.ts'
import type { Connection } from './connection.ts'
import { reasonOf } from './meaning.ts'
import { persistently } from './persistently.ts'
import { type Batch, joined } from './record.ts'
import type { Entity } from './shopify/nodes.ts'
import type { PageOf } from './shopify/pages.ts'

export type Purpose = 'backfill' | 'reconcile'

export interface PageWriter {
  db: Db
  connection: Connection
  storePlatformDomain: string
}

/** The page behind a place of a walk. */
export interface PageAt {
  purpose: Purpose
  entity: Entity
  position: string | null
}

/**
 * Writes the records of a page and the place behind it, together. Where one of them can never be written each is for
 * itself, so that the walk goes on without that one.
 */
export async function writePage(writer: PageWriter, at: PageAt, page: PageOf): Promise<void> {
  const { db } = writer
  try {
    await persistently(() =>
      db.tx(async (tx) => {
        await apply(writer, tx, joined(page.records))
        await advance(tx, at, page)
      }),
    )
  } catch (error) {
    if (reasonOf(error) === null) throw error
    for (const record of page.records) await writeOne(writer, at, record)
    await db.tx((tx) => advance(tx, at, page))
  }
}

const apply = ({ connection, storePlatformDomain }: PageWriter, tx: Statements, records: Batch) =>
  applyRecords({ ...connection, tx, storePlatformDomain }, records)

async function advance(tx: Statements, { purpose, entity, position }: PageAt, page: PageOf): Promise<void> {
  const moved = await tx.run('store_sync_advance', [purpose, entity, position, page.next, page.count])
  if (moved === 0) throw fail('conflict', 'Another process walks through this store at the same time.')
}

/** What is refused is noted beside the webhooks that could not be read, without a body: the store has it. */
async function writeOne(writer: PageWriter, { purpose, entity }: PageAt, record: Batch): Promise<void> {
  const { db, connection } = writer
  try {
    await persistently(() => db.tx((tx) => apply(writer, tx, record)))
  } catch (error) {
    const reason = reasonOf(error)
    const [refused] = record[entity]
    if (reason === null || !refused) throw error
    const { externalId, version } = refused
    log('warn', 'store_record_refused', { brand_id: connection.brandId, entity, id: externalId, reason })
    await db.run('store_delivery_add', [
      `${externalId} ${version.updatedAt}`,
      `${entity}/${purpose}`,
      version.updatedAt,
      'dead',
      reason,
      null,
    ])
  }
}
