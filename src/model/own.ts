import { OF_SEGMENTS } from '../lake/generation.ts'
import { RELATIONS } from '../lake/relations.ts'

/**
 * Relations that refreshes, and sessions that read, make beside sources and models: `*` for any name, `#` for a number of
 * at most three digits. A model that is called like one could not be made, or they could not. A test finds those that the
 * program makes.
 */
const OWN: readonly string[] = [
  // Of what changed.
  ...Object.keys(RELATIONS).flatMap((relation) => [`${relation}_changed`, `${relation}_versions`]),
  'asked',
  'asked_of_*',
  'asked_places',
  'asked_stg_*',
  'came_events',
  'came_redirects',
  'came_stg_*',
  'changed_customers',
  'changed_rows',
  'changed_subjects',
  'churn_now',
  'customers_before',
  'customers_gone',
  'customers_moved',
  'dated_rows',
  'dated_subjects',
  'orders_now',
  'owners_since',
  'passed_stg_*',
  'redirected_since',
  'remade',
  'remade_redirects',
  'remade_subjects',
  'replaced',
  'rfm_now',
  'scored',
  'seen',
  'touched',
  'touched_before',
  'touched_members',
  'touched_positions',
  'touched_redirects',
  'touched_subjects',
  // Of members.
  'evaluated',
  'kept_members',
  'member_base',
  'member_before',
  'member_diff',
  'member_greatest',
  'member_history',
  'member_lake',
  'member_since',
  'members_differing',
  'members_found',
  'members_moved',
  'memberships_moved',
  'segment_*_#',
  'segment_ids',
  'segment_members',
  'segment_profiles',
  'segment_rows_of_*',
  // Of results, beside the marts.
  ...[...OF_SEGMENTS].filter((name) => name !== 'customers'),
  'base_members',
  'customers_placed',
  'recent',
  'recent_orders',
  'recent_orders_*',
  'recent_product_events',
  'recent_product_events_*',
]

/** Behind the name of a model or source. */
const BESIDE: readonly string[] = ['_rows', '_touched']

const PATTERN = new RegExp(
  `^(${OWN.map((name) => name.replaceAll('*', '.+').replace('#', '\\d{1,3}')).join('|')})$`,
)

/** Whether a relation of that name is none of a model, beside models and sources of which `isThere` knows the names. */
export const isOwn = (name: string, isThere: (name: string) => boolean): boolean =>
  PATTERN.test(name) ||
  BESIDE.some((ending) => name.endsWith(ending) && isThere(name.slice(0, -ending.length)))
