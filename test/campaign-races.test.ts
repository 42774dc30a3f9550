import t from 'tap'
import { createSeal } from '../src/access/seal.ts'
import { addDiscount, removeDiscount } from '../src/campaign/discount.ts'
import { renameEventInCampaigns } from '../src/campaign/rename-event.ts'
import { type Campaign, campaignById, createCampaign, updateCampaign } from '../src/campaign/saved.ts'
import { createDefinition, updateDefinition } from '../src/connect/custom/definitions.ts'
import { createProvider } from '../src/connect/custom/providers.ts'
import type { Db } from '../src/op.ts'
import { archiveSegment, createSegment } from '../src/segment/saved.ts'
import { SEAL_KEY, WEBHOOK_ORIGIN } from './fixtures/api.ts'
import { atOnceIn } from './fixtures/at-once.ts'
import { brand as newBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { POINTS } from './fixtures/webhook.ts'

/** Changes of a campaign, and of what it names, in two transactions at once. */
const { postgres } = await database(t)
const atOnce = atOnceIn(postgres)

async function brandWithSegment() {
  const { id: brandId } = await newBrand({ postgres })
  const db = postgres.forBrand(brandId)
  const definition = { source: 'customer_profile', rule: { field: 'orders_count', op: '>=', value: 1 } }
  const { id } = await createSegment(db, { name: 'Buyers', definition, createdBy: 'test' })
  const create = (of: Db) =>
    createCampaign(
      of,
      {
        ...{ trigger_event: 'segment_entered', action_type: 'agent' },
        filters: [{ field: 'event.segment_id', operator: '=', value: id }],
      },
      'test',
    )
  return { db, create, archive: (of: Db) => archiveSegment(of, id) }
}

/** A campaign that an event type of the brand's own starts. */
async function brandWithEvent() {
  const { id: brandId } = await newBrand({ postgres })
  const db = postgres.forBrand(brandId)
  const making = { seal: createSeal(SEAL_KEY), webhookUrl: WEBHOOK_ORIGIN, withKey: false }
  const { id: providerId } = await createProvider(db, { name: 'Stamps' }, making)
  const { id } = await createDefinition(db, providerId, POINTS)
  const create = (of: Db) => createCampaign(of, { trigger_event: POINTS.type, action_type: 'agent' }, 'test')
  const rename = (of: Db) =>
    updateDefinition(of, { providerId, id, by: 'test' }, { type: 'renamed' }, [renameEventInCampaigns])
  return { db, create, rename }
}

async function brandWithDiscount() {
  const { id: brandId } = await newBrand({ postgres })
  const db = postgres.forBrand(brandId)
  const { id } = await addDiscount(db, {
    ...{ name: 'Ten', type: 'percentage', value: '10', code: null, prefix: 'TEN' },
    ...{ minimum_type: null, minimum_value: null, duration_days: null },
  })
  const create = (of: Db) =>
    createCampaign(of, { trigger_event: 'checkout_abandoned', action_type: 'agent', discount_id: id }, 'test')
  return { db, create, remove: (of: Db) => removeDiscount(of, id) }
}

const CHANGING = { by: 'test', now: new Date() }
const wait = (amount: number) => ({ wait: { amount, unit: 'hours' as const } })

t.test('a segment that a campaign is about to name is not archived', async (t) => {
  const { db, create, archive } = await brandWithSegment()
  const [saved, archived] = await atOnce(db, 'campaign_insert', create, archive)
  t.match(saved, { status: 'fulfilled' })
  t.match(archived, { status: 'rejected', reason: { code: 'conflict', message: /used by the campaign/ } })
})

t.test('a campaign does not name a segment that is about to be archived', async (t) => {
  const { db, create, archive } = await brandWithSegment()
  const [archived, saved] = await atOnce(db, 'segment_archive', archive, create)
  t.match(archived, { status: 'fulfilled' })
  t.match(saved, { status: 'rejected', reason: { code: 'bad_request', message: /no active segment/ } })
})

t.test('a discount that a campaign is about to offer is not removed', async (t) => {
  const { db, create, remove } = await brandWithDiscount()
  const [saved, removed] = await atOnce(db, 'campaign_insert', create, remove)
  t.match(saved, { status: 'fulfilled' })
  t.match(removed, { status: 'rejected', reason: { code: 'conflict', message: /offer this discount/ } })
})

t.test('a campaign does not offer a discount that is about to be removed', async (t) => {
  const { db, create, remove } = await brandWithDiscount()
  const [removed, saved] = await atOnce(db, 'discount_remove', remove, create)
  t.match(removed, { status: 'fulfilled' })
  t.match(saved, { status: 'rejected', reason: { code: 'bad_request', message: /no saved discount/ } })
})

t.test('a campaign that is being made follows its event type to a new name', async (t) => {
  const { db, create, rename } = await brandWithEvent()
  const [saved] = await atOnce(db, 'campaign_insert', create, rename)
  const { value } = saved as PromiseFulfilledResult<Campaign>
  t.match(await campaignById(db, value.id), { version: 2, definition: { trigger_event: 'renamed' } })
})

t.test('a campaign that is being changed follows its event type to a new name', async (t) => {
  const { db, create, rename } = await brandWithEvent()
  const { id } = await create(db)
  await atOnce(db, 'campaign_update', (of) => updateCampaign(of, id, wait(3), CHANGING), rename)
  t.match(await campaignById(db, id), {
    version: 3,
    definition: { trigger_event: 'renamed', wait: { amount: 3 } },
  })
})

t.test('a campaign that is changed while its event type gets a new name starts by that', async (t) => {
  const { db, create, rename } = await brandWithEvent()
  const { id } = await create(db)
  await atOnce(db, 'campaign_update', rename, (of) => updateCampaign(of, id, wait(3), CHANGING))
  t.match(await campaignById(db, id), {
    version: 3,
    definition: { trigger_event: 'renamed', wait: { amount: 3 } },
  })
})

t.test('of two changes of a campaign at once both are made', async (t) => {
  const { db, create } = await brandWithEvent()
  const { id } = await create(db)
  const named = (of: Db) => updateCampaign(of, id, { name: 'Other' }, CHANGING)
  await atOnce(db, 'campaign_update', (of) => updateCampaign(of, id, wait(3), CHANGING), named)
  t.match(await campaignById(db, id), { name: 'Other', definition: { wait: { amount: 3 } } })
})
