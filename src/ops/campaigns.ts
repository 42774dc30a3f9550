import * as v from 'valibot'
import { userOf } from '../access/permit.ts'
import {
  type CampaignRow,
  campaignById,
  createCampaign,
  type Campaign as Saved,
  setCampaignStatus,
  updateCampaign,
} from '../campaign/saved.ts'
import { campaignDraft, campaignItem, wholeCampaign } from '../campaign/shown.ts'
import { savedStart } from '../campaign/start.ts'
import { list, queryBoolean, uuid } from '../fields.ts'
import { type Ctx, type Op, op } from '../op.ts'
import * as example from './campaign-example.ts'
import {
  Campaign,
  CampaignDraft,
  CampaignItem,
  campaignPath,
  campaignStatus,
  sentCampaign,
  sentChange,
} from './campaign-fields.ts'

const NOTE =
  'Saved as a paused draft: nothing is sent until it is turned on, with the tool set_campaign_status or in the editor.'

const shown = async ({ db, baseUrl }: Ctx, campaign: Saved) =>
  wholeCampaign(campaign, await savedStart(db, campaign.definition), baseUrl)

export const campaignOps: readonly Op[] = [
  op({
    name: 'list_campaigns',
    route: 'GET /v1/campaigns',
    scopes: ['campaigns:read'],
    what: 'All campaigns, newest first; archived ones only with include_historical.',
    input: {
      query: v.strictObject({
        status: v.optional(campaignStatus),
        include_historical: v.optional(queryBoolean, 'false'),
      }),
    },
    output: list(CampaignItem),
    example: example.LISTED,
    run: async ({ db }, { query: { status, include_historical } }) => {
      const rows = await db.many<CampaignRow>('campaigns_of_brand', [status ?? null, include_historical])
      return { data: rows.map(campaignItem), next_cursor: null }
    },
  }),

  op({
    name: 'create_campaign',
    route: 'POST /v1/campaigns',
    scopes: ['campaigns:write'],
    signIn: true,
    exact: true,
    what: 'Save a campaign as a paused draft. Triggers, filters, variables and the rules of messages are in get_campaign_composer_options; what is left out takes a default, which the answer shows.',
    input: { body: sentCampaign },
    output: CampaignDraft,
    example: example.CREATED,
    run: async ({ db, caller, baseUrl }, { body }) => {
      const campaign = await createCampaign(db, body, userOf(caller))
      return { ...campaignDraft(campaign, await savedStart(db, campaign.definition), baseUrl), note: NOTE }
    },
  }),

  op({
    name: 'get_campaign',
    route: 'GET /v1/campaigns/{campaign_id}',
    scopes: ['campaigns:read'],
    what: 'One campaign with its messages, timing, filters and version.',
    input: { path: campaignPath },
    output: Campaign,
    example: example.READ,
    run: async (ctx, { path }) => shown(ctx, await campaignById(ctx.db, path.campaign_id)),
  }),

  op({
    name: 'update_campaign',
    route: 'PATCH /v1/campaigns/{campaign_id}',
    scopes: ['campaigns:write'],
    signIn: true,
    exact: true,
    errors: ['conflict'],
    what: 'Change a campaign: the next version is saved, and customers whom an earlier one has started stay on that. Of an active campaign it is sent from the next trigger on: ask the person first, or pause it. What is not sent stays, but a text that is still the default follows trigger, action and discount; null takes the default. An active campaign that is over gets another end only while it is paused. With version, a change to any other version than that is a conflict.',
    input: { path: campaignPath, body: sentChange },
    output: Campaign,
    example: example.UPDATED,
    run: async (ctx, { path, body }) =>
      shown(
        ctx,
        await updateCampaign(ctx.db, path.campaign_id, body, { by: userOf(ctx.caller), now: ctx.now }),
      ),
  }),

  op({
    name: 'set_campaign_status',
    scopes: ['campaigns:write'],
    signIn: true,
    what: 'Turn a campaign on (active: from now on its trigger starts it, and messages are sent), pause it, or archive it for good. Ask the person first, and pass confirm: true when they agreed.',
    errors: ['conflict'],
    input: {
      body: v.strictObject({
        campaign_id: uuid,
        status: v.picklist(['active', 'paused', 'archived'], 'must be one of active, paused, archived'),
        confirm: v.literal(true, 'must be true: ask the person whose campaign it is first'),
      }),
    },
    output: Campaign,
    example: example.TURNED_ON,
    run: async (ctx, { body: { campaign_id, status } }) =>
      shown(ctx, await setCampaignStatus(ctx.db, campaign_id, status, ctx.now)),
  }),
]
