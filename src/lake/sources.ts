import type { Brand } from '../op.ts'
import { type Duck, instant, literal } from '../store/duckdb.ts'
import { fileRows } from './file-rows.ts'
import { filesOf, type LakeFile, laterFiles, type Manifest } from './manifest.ts'
import type { Relation } from './relation.ts'
import { columnsOf, RELATIONS, type RelationName, sourceName } from './relations.ts'

/** The relations that a session opens: those that are read, and those that changed since a tick. */
export const openedOf = (manifest: Manifest, since: readonly number[], read?: ReadonlySet<RelationName>) =>
  (Object.keys(RELATIONS) as RelationName[]).filter(
    (relation) =>
      !read || read.has(relation) || since.some((tick) => laterFiles(manifest, relation, tick).length),
  )

export interface Sources {
  brand: Brand
  asOf: Date
  manifest: Manifest
  isSmall: boolean
  opened: readonly RelationName[]
  /** Ticks: later changes are looked for. */
  since: readonly number[]
}

/** Opens them in an instance that nothing locks yet, with `changed_subjects` and `params`. */
export async function openSources(
  duck: Duck,
  lakeDir: string,
  { brand, asOf, manifest, isSmall, opened, since }: Sources,
): Promise<void> {
  const statements = [paramsSql(brand, asOf)]
  const changed: string[] = []
  for (const relation of opened) {
    // No row is of a later tick where no file is.
    const later = since.filter((tick) => laterFiles(manifest, relation, tick).length)
    const source = { relation, lakeDir, manifest, since: later }
    const { kind } = RELATIONS[relation]
    const each =
      kind === 'append' ? appended(source) : isSmall ? copied(source) : await overlaid(duck, source)
    statements.push(...each.statements)
    changed.push(...each.changed)
  }
  statements.push(
    `create table changed_subjects as
     select relation::varchar as relation, subject::integer as subject, since::bigint as since
     from (${['select null as relation, null as subject, null as since where false', ...changed].join(' union all ')})`,
  )
  await duck.run(statements.join(';\n'))
}

const paramsSql = ({ id, timezone, currency_code }: Brand, asOf: Date) =>
  `create table params as
   select ${instant(asOf)} as as_of, ${literal(timezone)}::varchar as timezone,
     ${literal(currency_code)}::varchar as currency_code, ${literal(id)}::uuid as brand_id`

interface Opened {
  /** What opens a source. */
  statements: string[]
  /** Who changed, as SELECTs of `changed_subjects`. */
  changed: string[]
}

interface Source {
  relation: RelationName
  lakeDir: string
  manifest: Manifest
  since: readonly number[]
}

/**
 * The rows of a source's files until the manifest's tick. Of shared files those of the brand that its own files do not
 * have yet.
 */
function selectsOf({ relation, lakeDir, manifest }: Source) {
  const files = filesOf(manifest, relation)
  const columns = columnsOf(relation).join(', ')
  const until = Math.trunc(manifest.tick)
  const rowsOf = (which: readonly LakeFile[], conditions: readonly string[] = []) => {
    // Only beside a manifest that is not the newest are there later rows.
    const all = which.some(({ tick_hi }) => tick_hi > until)
      ? [...conditions, `tick <= ${until}`]
      : conditions
    const where = all.length ? ` where ${all.join(' and ')}` : ''
    return which.length ? [`select ${columns} from ${fileRows(lakeDir, relation, which)}${where}`] : []
  }
  const staged = files.filter(({ brand_id }) => brand_id === null)
  return {
    columns,
    base: rowsOf(files.filter(({ brand_id, level }) => brand_id !== null && level > 0)),
    deltas: rowsOf(files.filter(({ brand_id, level }) => brand_id !== null && level === 0)),
    staged: rowsOf(staged, [
      `brand_id = ${literal(manifest.brandId)}::uuid`,
      `tick > ${Number(manifest.cutTicks[relation] ?? 0)}`,
    ]),
  }
}

/** A mutable source as tables of all its versions. */
function copied(source: Source): Opened {
  const { relation, since } = source
  const { key } = RELATIONS[relation] as Relation
  const { columns, base, deltas, staged } = selectsOf(source)
  const current = `${relation}_changed`
  // A base alone holds each key once.
  const isNewest = deltas.length + staged.length === 0
  const all = isNewest ? current : `${relation}_versions`
  return {
    statements: [
      `create table ${all} (${columnTypes(relation)})`,
      ...[...base, ...deltas, ...staged].map((rows) => `insert into ${all} ${rows}`),
      ...(isNewest ? [] : [`create table ${current} as ${newestOf(relation, columns, all)}`]),
      `create view ${sourceName(relation)} as select ${columns} from ${current} where not deleted`,
      ...goneSql(relation, []),
    ],
    changed: since.flatMap((tick) =>
      changedSql(relation, [movedSql(key, columns, [`from ${all}`], tick)], tick),
    ),
  }
}

/** Events and the like as a view over their files, but those of shared files, which are copied: they hold other brands' rows too. */
function appended(source: Source): Opened {
  const { relation, since } = source
  const { base, deltas, staged } = selectsOf(source)
  const shared = `${relation}_versions`
  const own = [...base, ...deltas]
  const copies = staged.length > 0 || own.length === 0
  return {
    statements: [
      ...(copies ? [`create table ${shared} (${columnTypes(relation)})`] : []),
      ...staged.map((rows) => `insert into ${shared} ${rows}`),
      `create view ${sourceName(relation)} as ${[...own, ...(copies ? [`from ${shared}`] : [])].join(' union all ')}`,
    ],
    changed: since.flatMap((tick) => changedSql(relation, addedSql(source, shared, tick), tick)),
  }
}

/** A mutable source as a view over its base, but what changed since, which is copied. */
async function overlaid(duck: Duck, source: Source): Promise<Opened> {
  const { relation, since } = source
  const { key } = RELATIONS[relation] as Relation
  const { columns, base, deltas, staged } = selectsOf(source)
  const later = `${relation}_versions`
  await duck.run(
    [
      `create table ${later} (${columnTypes(relation)})`,
      ...[...deltas, ...staged].map((rows) => `insert into ${later} ${rows}`),
      `create table ${relation}_changed as ${newestOf(relation, columns, later)}`,
    ].join(';\n'),
  )
  const current = `select ${columns} from ${relation}_changed where not deleted`
  const [count] = await duck.rows<{ rows: number }>(`select count(*) as rows from ${relation}_changed`)
  const replaced = count?.rows ? `anti join ${relation}_changed using (${key.join(', ')})` : ''
  const unchanged = base.map((rows) => `select ${columns} from (${rows}) ${replaced} where not deleted`)
  const parts = count?.rows || !unchanged.length ? [current, ...unchanged] : unchanged
  const versions = [`from ${later}`, ...base.map((rows) => `from (${rows})`)]
  return {
    statements: [
      ...goneSql(relation, base),
      `create view ${sourceName(relation)} as ${parts.join(' union all ')}`,
    ],
    changed: since.flatMap((tick) => changedSql(relation, [movedSql(key, columns, versions, tick)], tick)),
  }
}

/** Rows that came after a tick, where there are some; `shared`: those of shared files. */
function addedSql({ relation, lakeDir, manifest }: Source, shared: string, tick: number): string[] {
  const files = laterFiles(manifest, relation, tick)
  const own = files.filter(({ brand_id }) => brand_id !== null)
  const rows = [
    ...(own.length ? [fileRows(lakeDir, relation, own)] : []),
    ...(own.length < files.length ? [shared] : []),
  ]
  return rows.map(
    (each) => `from ${each} where tick > ${Math.trunc(tick)} and tick <= ${Math.trunc(manifest.tick)}`,
  )
}

const newestOf = (relation: RelationName, columns: string, versions: string) =>
  `select ${columns} from ${versions}
   qualify row_number() over (partition by ${(RELATIONS[relation] as Relation).key.join(', ')} order by tick desc) = 1`

/** Rows that changed after a tick, and as they were until then. */
function movedSql(
  key: readonly string[],
  columns: string,
  versions: readonly string[],
  tick: number,
): string {
  const keys = key.join(', ')
  const since = Math.trunc(tick)
  const moved = versions.map((version) => `select ${keys} ${version} where tick > ${since}`).join(' union ')
  const all = versions.map((version) => `select ${columns} ${version}`).join(' union all ')
  // Whom a row was about until then, not whom it was about before that: nothing of theirs changed since.
  const until = `row_number() over (partition by ${keys}, tick > ${since} order by tick desc) = 1`
  return `from (${all}) semi join (${moved}) using (${keys}) qualify tick > ${since} or ${until}`
}

/** Whom the store deleted or somebody erased: histories name them by their ids. */
function goneSql(relation: RelationName, base: readonly string[]): string[] {
  if (relation !== 'customers') return []
  const columns = 'subject, customer_id, deleted, email, phone, store_customer_id'
  const unchanged = base.map(
    (rows) => `union all select ${columns} from (${rows}) anti join customers_changed using (subject)`,
  )
  return [
    `create view customers_gone as
     select subject, customer_id, coalesce(email, phone, store_customer_id) is null as is_erased
     from (select ${columns} from customers_changed ${unchanged.join(' ')})
     where deleted`,
  ]
}

/** Columns that name a subject, of the relations that are about one. */
const ABOUT: Readonly<Partial<Record<RelationName, readonly string[]>>> = {
  events: ['subject'],
  customers: ['subject'],
  subject_redirect: ['subject', 'customer'],
  visitors: ['subject'],
  orders: ['subject'],
  refunds: ['subject'],
  checkouts: ['subject'],
  subscriptions: ['subject'],
  conversations: ['subject'],
  messages: ['subject'],
}

/** Sources whose rows are about one subject each, by what models call them. */
export const BY_SUBJECT: ReadonlySet<string> = new Set(
  Object.entries(ABOUT).flatMap(([relation, columns]) =>
    columns.length === 1 ? sourceName(relation as RelationName) : [],
  ),
)

const changedSql = (relation: RelationName, rows: readonly string[], since: number): string[] =>
  (ABOUT[relation] ?? []).map(
    (column) =>
      `select distinct ${literal(relation)} as relation, ${column} as subject, ${Math.trunc(since)} as since
       from (${rows.map((each) => `select ${column} ${each}`).join(' union all ')})`,
  )

export function columnTypes(relation: RelationName): string {
  const { columns } = RELATIONS[relation] as Relation
  const typed = Object.entries(columns).map(([name, [type]]) => `${name} ${type}`)
  return ['brand_id uuid', 'tick bigint', ...typed].join(', ')
}
