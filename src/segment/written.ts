import type { Generation } from '../lake/generation.ts'
import type { NewFile } from '../lake/manifest.ts'
import { type Serving, type WrittenServed, writeServing } from '../lake/serving.ts'
import type { Session } from '../lake/session.ts'
import type { Duck } from '../store/duckdb.ts'
import type { WrittenFile } from '../store/lake.ts'
import type { BrandRow } from './brand-row.ts'
import type { Publication } from './publish.ts'
import { recentTables } from './recent.ts'
import {
  addMembers,
  PARAMS,
  writeMembersAnew,
  writeTouchedMarts,
  writeTouchedMembers,
} from './served-tables.ts'
import { mergeMarts } from './touched.ts'
import { rowsIn, tooMany } from './way.ts'

/** Takes a written file, with what lies beside it, among those that are to be published. */
export type Note = (
  file: WrittenFile & Partial<Pick<WrittenServed, 'beside'>>,
  relation: NewFile['relation'],
  level: number,
  rows: number,
) => void

/** What reads come from after a publication. */
export interface Written {
  shown: Omit<Generation, 'generation'>
  /** Customers whose rows of segments, and of models, are those of changes. */
  changed: number
  modelsChanged: number
}

/** The file that everyone's rows were computed into. */
export async function finishWhole(
  serving: Serving,
  session: Session,
  { parts, published, staying, models: all }: Publication,
  note: Note,
): Promise<Written> {
  const ofModels = parts.has('models') ? [PARAMS, ...(session.isSmall ? [] : recentTables(session, all))] : []
  // One text: to plan few rows' statements one by one takes longer.
  if (parts.has('segments')) await addMembers(session, serving, ofModels)
  else await serving.add(ofModels)
  const file = await serving.finish()
  note(file, 'served', 1, 0)
  const segments = parts.has('segments')
    ? { base_path: file.path, changes_path: null, members_path: null }
    : {}
  const models = parts.has('models')
    ? {
        models_base_path: staying?.path ?? file.path,
        models_changes_path: null,
        models_sums_path: staying && file.path,
      }
    : {}
  const shown = { ...published, ...segments, ...models }
  return { shown: shown as Written['shown'], changed: 0, modelsChanged: 0 }
}

/** What touched customers' rows replace of the bases that are there. */
export async function writeTouched(
  session: Session,
  { brand, parts, published, models, carries, mostMoved, salesMoved }: Publication,
  note: Note,
): Promise<Written> {
  if (!published) throw new Error('there is no base that the changes could be to')
  const { duck } = session
  const written: Written = {
    shown: { ...published },
    changed: 0,
    modelsChanged: brand.models_changed_customers,
  }
  if (parts.has('segments')) {
    const isAnew = carries && !(await touchMembers(duck, brand, mostMoved))
    const { changes, members } = isAnew
      ? await writeMembersAnew(session, published)
      : await (carries
          ? writeTouchedMembers(session, published, MOVED)
          : writeTouchedMembers(session, published, 'customers', 'customers_before'))
    for (const file of [changes, members]) if (file) note(file, 'served', 0, 0)
    if (changes) written.shown.changes_path = changes.path
    if (members) written.shown.members_path = members.path
    written.changed = await rowsIn(duck, 'replaced')
  }
  if (!parts.has('models')) return written

  if (salesMoved) {
    const file = await writeServing(session, (serving) => mergeMarts(duck, models, serving))
    note(file, 'served', 0, 0)
    written.shown.models_sums_path = file.path
  } else await mergeMarts(duck, models, 'everyone as published')
  const file = await writeTouchedMarts(session, published, models)
  note(file, 'served', 0, 0)
  written.shown.models_changes_path = file.path
  written.modelsChanged = await rowsIn(duck, 'replaced')
  return written
}

/** The rows of touched customers, where the marts have everyone's. */
const MOVED = 'customers_moved'

/** Touches also whose memberships alone changed; false when they are so many that everyone's are better written anew. */
async function touchMembers(
  duck: Duck,
  { changed_customers: before }: BrandRow,
  most: number | undefined,
): Promise<boolean> {
  await duck.run(`
    create table members_moved as
    select distinct customer from member_diff anti join touched using (customer)`)
  const touched = (await rowsIn(duck, 'touched')) + (await rowsIn(duck, 'members_moved'))
  if (tooMany(touched, before, await rowsIn(duck, 'base.customers'), most)) return false
  // First their rows: what `customers` carries on leaves out whoever is touched.
  await duck.run(`
    create table ${MOVED} as
    from customers semi join (from touched union all from members_moved) using (customer)`)
  await duck.run('insert into touched from members_moved')
  return true
}
