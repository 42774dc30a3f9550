import { fail } from '../../errors.ts'
import { log } from '../../log.ts'
import type { Db, Statements } from '../../op.ts'
import { persistently } from '../../store/persistently.ts'
import { applyRecords } from './apply.ts'
import type { Connection } from './connection.ts'
import { reasonOf } from './meaning.ts'
import { type Batch, joined } from './record.ts'
import type { Entity } from './shopify/nodes.ts'
import type { PageOf, Refused } from './shopify/pages.ts'

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
 * Writes the records of a page, those that cannot be read, and the place behind it, together. Where one of them can never be written each is for
 * itself, so that the walk goes on without that one.
 */
export async function writePage(writer: PageWriter, at: PageAt, page: PageOf): Promise<void> {
  const { db } = writer
  try {
    await persistently(() =>
      db.tx(async (tx) => {
        await apply(writer, tx, joined(page.records))
        await advance(writer, tx, at, page)
      }),
    )
  } catch (error) {
    if (reasonOf(error) === null) throw error
    for (const record of page.records) await writeOne(writer, at, record)
    await db.tx((tx) => advance(writer, tx, at, page))
  }
}

const apply = ({ connection, storePlatformDomain }: PageWriter, tx: Statements, records: Batch) =>
  applyRecords({ ...connection, tx, storePlatformDomain }, records)

async function advance(writer: PageWriter, tx: Statements, at: PageAt, page: PageOf): Promise<void> {
  for (const refused of page.unreadable) await note(writer, tx, at, refused)
  const { purpose, entity, position } = at
  const moved = await tx.run('store_sync_advance', [purpose, entity, position, page.next, page.count])
  if (moved === 0) throw fail('conflict', 'Another process walks through this store at the same time.')
}

async function writeOne(writer: PageWriter, at: PageAt, record: Batch): Promise<void> {
  const { db } = writer
  try {
    await persistently(() => db.tx((tx) => apply(writer, tx, record)))
  } catch (error) {
    const reason = reasonOf(error)
    const [refused] = record[at.entity]
    if (reason === null || !refused) throw error
    await note(writer, db, at, { id: refused.externalId, updatedAt: refused.version.updatedAt, reason })
  }
}

/** Beside the webhooks that could not be read, without a body: the store has it. */
async function note(
  { connection }: PageWriter,
  db: Pick<Statements, 'run'>,
  { purpose, entity }: PageAt,
  { id, updatedAt, reason }: Refused,
): Promise<void> {
  log('warn', 'store_record_refused', { brand_id: connection.brandId, entity, id, reason })
  await db.run('store_refused_add', [`${id} ${updatedAt}`, `${entity}/${purpose}`, updatedAt, reason])
}
