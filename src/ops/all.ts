import type { Op } from '../op.ts'
import { brandOps } from './brand.ts'
import { cdpDefinitionOps } from './cdp-definitions.ts'
import { cdpQueryOps } from './cdp-query.ts'
import { cdpSegmentOps } from './cdp-segments.ts'
import { contactOps } from './contacts.ts'
import { eventDefinitionOps } from './event-definitions.ts'
import { integrationOps } from './integrations.ts'
import { keyOps } from './keys.ts'
import { providerOps } from './providers.ts'
import { segmentMemberOps } from './segment-members.ts'
import { segmentQuestionOps } from './segment-questions.ts'
import { segmentOps } from './segments.ts'

/** Every operation of the service. */
export const OPS: readonly Op[] = [
  ...brandOps,
  ...keyOps,
  ...contactOps,
  ...segmentOps,
  ...segmentMemberOps,
  ...segmentQuestionOps,
  ...cdpSegmentOps,
  ...cdpQueryOps,
  ...cdpDefinitionOps,
  ...providerOps,
  ...eventDefinitionOps,
  ...integrationOps,
]
