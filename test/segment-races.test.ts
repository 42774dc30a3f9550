import t from 'tap'
import { setLogLevel } from '../src/log.ts'
import type { Db } from '../src/op.ts'
import { refreshBrand } from '../src/segment/refresh.ts'
import { renameEventInSegments } from '../src/segment/rename-event.ts'
import { archiveSegment, createSegment, updateSegment } from '../src/segment/saved.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { lake } from './fixtures/lake.ts'

setLogLevel('error')

/** A refresh that publishes, and a change of a segment, in two transactions at once. */
const pipeline = await lake(t)
const { postgres } = pipeline
const atOnce = atOnceIn(postgres)

const viewed = (name: string) => ({
  source: 'product_events',
  rule: { field: 'event_kind', op: '=', value: name },
})

const RENAMED = { from: 'viewed', to: 'seen', by: 'test', isStillUsed: false }
const changes: Record<string, (db: Db, id: string) => Promise<unknown>> = {
  archived: archiveSegment,
  edited: (db, id) => updateSegment(db, { id, definition: viewed('bought'), createdBy: 'test' }),
  'given a new name of an event type': (db) => db.tx((tx) => renameEventInSegments(tx, RENAMED)),
}

for (const [what, change] of Object.entries(changes))
  t.test(`a segment is ${what} while a refresh of it is published`, async (t) => {
    const brand = await newBrand(pipeline)
    const db = postgres.forBrand(brand.id)
    const definition = viewed('viewed')
    const { id } = await createSegment(db, { name: 'Viewers', definition, createdBy: 'test' })
    const done = await atOnce(
      postgres.pipeline,
      'segments_evaluated',
      (of) => refreshBrand({ ...pipeline, postgres: { ...postgres, pipeline: of } }, brand.id),
      () => change(db, id),
    )
    t.match(done, [{ status: 'fulfilled' }, { status: 'fulfilled' }])
  })
