import type { Op } from '../op.ts'
import { atRiskOps } from './at-risk.ts'
import { brandOps } from './brand.ts'
import { campaignComposerOps } from './campaign-composer.ts'
import { campaignOps } from './campaigns.ts'
import { cdpCommerceOps } from './cdp-commerce.ts'
import { cdpCustomerOps } from './cdp-customers.ts'
import { cdpDefinitionOps } from './cdp-definitions.ts'
import { cdpProfileOps } from './cdp-profiles.ts'
import { cdpQueryOps } from './cdp-query.ts'
import { cdpSegmentOps } from './cdp-segments.ts'
import { cdpSessionOps } from './cdp-sessions.ts'
import { contactOps } from './contacts.ts'
import { conversationInsightOps } from './conversation-insights.ts'
import { conversationOps } from './conversations.ts'
import { customerActivityOps } from './customer-activity.ts'
import { customerOrderOps } from './customer-orders.ts'
import { customerOps } from './customers.ts'
import { discountOps } from './discounts.ts'
import { eventDefinitionOps } from './event-definitions.ts'
import { insightOps } from './insights.ts'
import { integrationOps } from './integrations.ts'
import { journeyOps } from './journey.ts'
import { keyOps } from './keys.ts'
import { orderOps } from './orders.ts'
import { productOps } from './products.ts'
import { providerOps } from './providers.ts'
import { segmentMemberOps } from './segment-members.ts'
import { segmentQuestionOps } from './segment-questions.ts'
import { segmentOps } from './segments.ts'
import { statsOps } from './stats.ts'
import { subscriptionOps } from './subscriptions.ts'

/** Every operation of the service. */
export const OPS: readonly Op[] = [
  ...brandOps,
  ...keyOps,
  ...conversationOps,
  ...conversationInsightOps,
  ...contactOps,
  ...customerOps,
  ...customerActivityOps,
  ...customerOrderOps,
  ...segmentOps,
  ...segmentMemberOps,
  ...segmentQuestionOps,
  ...orderOps,
  ...subscriptionOps,
  ...productOps,
  ...insightOps,
  ...atRiskOps,
  ...discountOps,
  ...cdpProfileOps,
  ...cdpSessionOps,
  ...cdpCustomerOps,
  ...cdpSegmentOps,
  ...cdpCommerceOps,
  ...cdpQueryOps,
  ...cdpDefinitionOps,
  ...providerOps,
  ...eventDefinitionOps,
  ...integrationOps,
  ...campaignOps,
  ...campaignComposerOps,
  ...statsOps,
  ...journeyOps,
]
