import { GLOBAL_CUSTOMER, GLOBAL_ID, NO_IDS, WHOLE } from '../../event/id.ts'
import { type Duck, literal } from '../../store/duckdb.ts'
import type { Target } from './targets.ts'

/** How spreadsheets are told that digits are a text: '007 and ="007". */
const AS_TEXT = `^(?:'(\\d+)|="(.*)")$`

/** Makes the macros that read ids of a file as `event/id.ts` reads those that are sent. */
export async function makeIdMacros(duck: Duck): Promise<void> {
  const first = (pattern: string) => `regexp_replace(id, ${literal(pattern)}, '\\1')`
  await duck.run(`
    create macro store_id(id) as case
      when starts_with(id, 'gid://') then ${first(`(?s)${GLOBAL_ID.source}.*$`)}
      when contains(id, '.0') then ${first(WHOLE.source)}
      when left(id, 1) in ('''', '=') then regexp_replace(id, ${literal(AS_TEXT)}, '\\1\\2')
      else id
    end;
    create macro is_no_id(id) as lower(store_id(id)) in (${NO_IDS.map(literal).join(', ')});
    create macro is_of_another_kind(id) as starts_with(id, 'gid://')
      and regexp_matches(id, ${literal(GLOBAL_ID.source)})
      and not regexp_matches(id, ${literal(GLOBAL_CUSTOMER.source)})`)
}

/** SQL of an id from its text; null for a word that is missing to its target. */
export function asId(text: string, { own, ofCustomer, noId }: Target): string {
  // What is refused stays as it is.
  const read = ofCustomer
    ? `case when is_of_another_kind(${text}) then ${text} else store_id(${text}) end`
    : `store_id(${text})`
  const id = own ? text : read
  return noId === 'missing' ? `case when not is_no_id(${text}) then ${id} end` : id
}
