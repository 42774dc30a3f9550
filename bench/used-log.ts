import connect from '../src/store/driver.ts'
import { startEmbedded } from '../src/store/embedded.ts'

/** Of 16 MB each, as many as the embedded Postgres keeps. */
const SEGMENTS = 64

/**
 * Brings a new cluster to where one is that has run for a while: commits wait while Postgres fills a new segment of its
 * log with zeros, and it takes up the old ones that checkpoints leave.
 */
export async function useLog(dataDir: string): Promise<void> {
  const embedded = await startEmbedded({ dataDir })
  const sql = connect(embedded.adminUrl, { max: 1 })
  try {
    for (let n = 0; n < SEGMENTS; n++) await sql`select pg_create_restore_point('bench'), pg_switch_wal()`
    await sql`checkpoint`
  } finally {
    await sql.end()
    await embedded.release()
  }
}
