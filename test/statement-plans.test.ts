import postgres from 'postgres'
import t from 'tap'
import { sqlFiles } from '../src/store/sqlfile.ts'
import { brand as makeBrand } from './fixtures/brand.ts'
import { database } from './fixtures/database.ts'
import { pretendFull } from './fixtures/full-tables.ts'
import { fillAlike, fillBrand } from './fixtures/rows.ts'

/**
 * What Postgres plans for a brand with millions of customers: a condition that no index answers costs nothing in a test and
 * seconds in a large store. Behind the policies of brands that is each one by a function or `coalesce`.
 */
const GROWING = [
  'attribution',
  'campaign_run',
  'checkout',
  'contact',
  'contact_consent',
  'conversation',
  'custom_delivery',
  'custom_event',
  'customer',
  'discount_code',
  'fulfillment',
  'identifier',
  'identifier_claim',
  'link_click',
  'merge',
  'message',
  'refund',
  'run_step',
  'short_link',
  'store_order',
  'subject_redirect',
  'subscription',
  'tombstone',
  'visitor_claim',
]
/** Planner's cost of a scan, in pages read one after the other: a lookup costs less than ten. */
const MUCH = 2_000

/** Statements that read much, or seem to, and why they may. */
const READS_MUCH: Record<string, string> = {
  attribution_changed: 'all that changed since the last round',
  bodies_erase_all: 'once, after a restore without the key',
  brand_empty: 'ends at the first row',
  contacts_page: 'ends with the page',
  conversations_page: 'filters that are null fall away when it is planned by its values',
  data_of_person: 'merges that were undone are in no index: one scan for an export',
  erase_visitor_claims: 'waiting visitors are few',
  identity_brand: 'ends at the first row',
  merges_barred: 'an index of those alone',
  merges_newest: 'one scan for a list on the command line',
  quiet_waits_free: 'once, after a change of quiet hours',
  restore_campaigns: 'once, after a restore',
  shared_identifiers: 'counts all, on the command line',
  status_brands: 'counts all, on the command line',
}

const db = await database(t)
const brand = await makeBrand(db, { features: ['cdp'] })
await fillBrand(db, brand)
await fillAlike(db, brand)
const sql = postgres(db.url, { max: 1, onnotice: () => {} })
t.teardown(() => sql.end())
await pretendFull(sql, GROWING)

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Total Cost': number
  Plans?: Plan[]
}

/** Scans of growing tables that read much. */
function largeScans(plan: Plan): string[] {
  if (plan['Node Type'] === 'Limit' && plan['Total Cost'] <= MUCH) return []
  const table = plan['Relation Name'] ?? ''
  const reads = GROWING.includes(table) && plan['Node Type'] !== 'ModifyTable'
  const own = reads && plan['Total Cost'] > MUCH ? [`${plan['Node Type']} of ${table}`] : []
  return [...own, ...(plan.Plans ?? []).flatMap(largeScans)]
}

const explained = (text: string, role: string): Promise<Plan> =>
  sql.begin(async (tx) => {
    await tx.unsafe(`set local role ${role}`)
    const [row] = await tx.unsafe(`explain (generic_plan, format json) ${text}`)
    return row?.['QUERY PLAN'][0].Plan
  })

/** Of requests where they may run it, whose policies leave the planner the fewest ways; else of the pipeline. */
async function planOf(text: string): Promise<Plan> {
  try {
    return await explained(text, 'recoup_app')
  } catch (error) {
    if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error
    return await explained(text, 'recoup_pipeline')
  }
}
const INSUFFICIENT_PRIVILEGE = '42501'

/** Without what is no query, and what is of the queue's tables, which are made when it starts. */
const queries = [...sqlFiles('sql/postgres')].filter(([, text]) => {
  const code = text.replace(/^--.*$/gm, '').trim()
  return !/^(call|set)\b/.test(code) && !code.includes('pgboss.')
})

t.test('a scan of a growing table is noticed', async (t) => {
  t.strictSame(largeScans(await planOf('select from customer where first_name is null')), [
    'Seq Scan of customer',
  ])
})

for (const [name, text] of queries) {
  const expected = READS_MUCH[name] ? 'may read much' : 'looks up what it reads of growing tables'
  t.test(`${name} ${expected}`, async (t) => {
    const found = largeScans(await planOf(text))
    if (READS_MUCH[name]) t.not(found.length, 0, `else it needs no leave: ${READS_MUCH[name]}`)
    else t.strictSame(found, [])
  })
}
