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
  'erased_line',
  'fulfillment',
  'identifier',
  'identifier_claim',
  'insight_message',
  'kept_refusal',
  'link_click',
  'merge',
  'message',
  'refund',
  'run_step',
  'short_link',
  'store_cart',
  'store_delivery',
  'store_event',
  'store_order',
  'store_version',
  'subject_redirect',
  'subscription',
  'subscription_revision',
  'tombstone',
  'trigger_event',
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
  identity_brand: 'ends at the first row',
  insight_messages_clear: 'takes out all, as a night finds them anew',
  insights_page: 'counts all of the last days',
  merges_barred: 'an index of those alone',
  merges_newest: 'one scan for a list on the command line',
  quiet_waits_free: 'once, after a change of quiet hours',
  restore_campaigns: 'once, after a restore',
  search_messages: 'an index of words, of all brands',
  set_back_brands: 'once, after a restore',
  shared_identifiers: 'counts all, on the command line',
  status_brands: 'counts all, on the command line',
  store_dead_drop: 'an index of the bodies that are kept, which are few',
  store_status: 'counts all that waits, on the command line',
  trigger_events_take: 'ends with those that are taken',
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
  return !/^(call|lock|set)\b/.test(code) && !code.includes('pgboss.')
})

interface Routine {
  name: string
  language: string
  /** Null of what keeps its text as it was written, which `source` is. */
  body: string | null
  source: string
  args: string[] | null
  types: string[]
}

/** What a function of SQL asks, or a query that one of PL/pgSQL returns or makes, with parameters by number. */
function queryOf({ name, language, body, source, args, types }: Routine): string | undefined {
  const made = source.match(/return query\n(.*?);\nend/s) ?? source.match(/\$sql\$(.*)\$sql\$/s)
  const text =
    body?.replace(/^BEGIN ATOMIC|END$/g, '').replace(/^RETURN/, 'SELECT') ??
    (language === 'sql' ? source : made?.[1])
  if (!text || !/\bselect\b.*\bfrom\b/is.test(body ?? text)) return undefined
  const numbered = text
    .trim()
    .replace(/;$/, '')
    .replace(new RegExp(`\\b${name}\\.(\\w+)\\b`, 'g'), (found, arg) => {
      const at = args?.indexOf(arg) ?? -1
      return at < 0 ? found : `$${at + 1}`
    })
    .replace(/\$(\d+)/g, (parameter, number) => `${parameter}::${types[number - 1]}`)
  // A text that names its arguments reads as if they were columns.
  return types.length > 0 && !numbered.includes('$') ? undefined : numbered
}

const routines = await sql<Routine[]>`
  select
    proname as name, lanname as language, pg_get_function_sqlbody(pg_proc.oid) as body, prosrc as source, proargnames as args,
    array(select format_type(type, null) from unnest(proargtypes) as type) as types
  from pg_proc join pg_language as language on language.oid = prolang
  where pronamespace = 'public'::regnamespace and prokind = 'f' and lanname in ('sql', 'plpgsql')
  order by proname`
const asked = routines.flatMap((routine) => {
  const text = queryOf(routine)
  return text ? [[routine.name, text] as const] : []
})

t.test('a scan of a growing table is noticed', async (t) => {
  t.strictSame(largeScans(await planOf('select from customer where first_name is null')), [
    'Seq Scan of customer',
  ])
})

/** Of a statement of requests, by its values. */
const plannedBy = (name: string, values: readonly unknown[]): Promise<Plan> =>
  sql.begin(async (tx) => {
    await tx`set local role recoup_app`
    const text = queries.find(([given]) => given === name)?.[1]
    const [row] = await tx.unsafe(`explain (format json) ${text}`, [brand.id, ...values] as never[])
    return row?.['QUERY PLAN'][0].Plan
  })

for (const [at, filter] of ['status', 'channel', 'campaign_id', 'contact_id'].entries()) {
  t.test(`the newest conversations of a ${filter} are looked up`, async (t) => {
    const filters = Array.from({ length: 4 }, (_, i) => (i === at ? brand.id : null))
    t.strictSame(largeScans(await plannedBy('conversations_page', [null, null, ...filters, 51])), [])
  })
}

t.test('of what campaigns start at no more is read than is taken', async (t) => {
  t.strictSame(largeScans(await plannedBy('trigger_events_take', [new Date(), 500])), [])
})

for (const [name, text] of [...queries, ...asked]) {
  const expected = READS_MUCH[name] ? 'may read much' : 'looks up what it reads of growing tables'
  t.test(`${name} ${expected}`, async (t) => {
    const found = largeScans(await planOf(text))
    if (READS_MUCH[name]) t.not(found.length, 0, `else it needs no leave: ${READS_MUCH[name]}`)
    else t.strictSame(found, [])
  })
}
