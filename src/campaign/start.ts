import type { Mappings } from '../connect/custom/mappings.ts'
import { fail } from '../errors.ts'
import { parsePath } from '../event/singular-path.ts'
import type { Statements } from '../op.ts'
import { refusal, unknownName } from '../segment/complaint.ts'
import { factsOfSchema } from './schema-fact.ts'
import {
  type CampaignType,
  type Fact,
  isPredefined,
  type Predefined,
  type SourceKind,
  TRIGGERS,
} from './trigger.ts'

/** What starts a campaign: one of the predefined triggers, or an event type of a provider. */
export interface Start {
  kind: 'predefined' | 'custom'
  event: string
  label: string
  providerId: string | null
  type: CampaignType
  source: SourceKind
  facts: Readonly<Record<string, Fact>>
  /** The trigger tells of a checkout that can be gone on with. */
  checkout: boolean
}

/** An event type of a provider. */
export interface CustomEvent {
  type: string
  name: string
  provider_id: string
  provider: string
  payload_schema: Record<string, unknown>
  identifier_mappings: Partial<Mappings>
  /** Both it and its provider are. */
  is_enabled: boolean
}

export const CHECKOUT_TRIGGERS = ['checkout_abandoned'] as const

/** Those that can start campaigns; of some types alone, where these are given. */
export const customEvents = async (
  db: Pick<Statements, 'many'>,
  types: readonly string[] | null = null,
): Promise<CustomEvent[]> =>
  (await db.many<CustomEvent>('campaign_custom_events', [types])).filter(({ is_enabled }) => is_enabled)

/** How a saved campaign names its start. */
interface SavedTrigger {
  trigger_event: string
  provider_id: string | null
}

/** What starts a saved campaign, also when its event type is disabled or gone by now. */
export const savedStart = async (db: Pick<Statements, 'many'>, trigger: SavedTrigger): Promise<Start> =>
  (await savedStarts(db, [trigger]))(trigger)

/** The same of several. */
export async function savedStarts(
  db: Pick<Statements, 'many'>,
  triggers: readonly SavedTrigger[],
): Promise<(trigger: SavedTrigger) => Start> {
  const types = triggers.map(({ trigger_event }) => trigger_event).filter((type) => !isPredefined(type))
  const all = types.length ? await db.many<CustomEvent>('campaign_custom_events', [types]) : []
  return ({ trigger_event: event, provider_id }) => {
    if (isPredefined(event)) return predefinedStart(event)
    const found = all.find((one) => one.type === event && one.provider_id === provider_id)
    return customStart(
      found ?? {
        ...{ type: event, name: event, provider_id: provider_id ?? '' },
        ...{ payload_schema: {}, identifier_mappings: {} },
      },
    )
  }
}

/** What a trigger event stands for. Throws `bad_request` for what the brand does not have. */
export async function startOf(
  db: Pick<Statements, 'many'>,
  event: string,
  providerId: string | null,
): Promise<Start> {
  if (isPredefined(event)) {
    if (providerId !== null) throw refusal('provider_id', `${event} comes from no provider: leave it out`)
    return predefinedStart(event)
  }
  const named = await customEvents(db, [event])
  if (named.length === 0) throw unknownTrigger(event, await customEvents(db))
  const [only, ...others] =
    providerId === null ? named : named.filter(({ provider_id }) => provider_id === providerId)
  if (!only) throw refusal('provider_id', `no enabled provider with this id has the event type "${event}"`)
  if (others.length > 0)
    throw fail(
      'bad_request',
      `provider_id: is required, since several providers have the event type "${event}"`,
    )
  return customStart(only)
}

export const unknownTrigger = (event: string, custom: readonly CustomEvent[]) =>
  unknownName('trigger_event', event, 'a trigger of this brand', [
    ...Object.keys(TRIGGERS),
    ...custom.map(({ type }) => type),
  ])

export function predefinedStart(event: Predefined): Start {
  const { label, type, source, facts } = TRIGGERS[event]
  const checkout = (CHECKOUT_TRIGGERS as readonly string[]).includes(event)
  return { kind: 'predefined', event, label, providerId: null, type, source, facts, checkout }
}

export const customStart = ({
  type: event,
  name,
  provider_id,
  payload_schema,
  identifier_mappings,
}: Omit<CustomEvent, 'provider' | 'is_enabled'>): Start => ({
  kind: 'custom',
  event,
  label: name,
  providerId: provider_id,
  type: 'custom_event',
  source: 'custom_event',
  facts: factsOfSchema(payload_schema, channelsOf(identifier_mappings)),
  checkout: false,
})

/** What of a payload's top level is a channel, which its event is without. */
const channelsOf = ({ email_path, phone_path }: Partial<Mappings>): readonly unknown[] =>
  [email_path, phone_path].flatMap((path) => {
    const segments = path === undefined ? [] : parsePath(path)
    return 'problem' in segments || segments.length > 1 ? [] : segments
  })
