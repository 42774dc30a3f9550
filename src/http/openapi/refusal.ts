import type { JsonSchema } from '../json-schema.ts'
import type { Answer } from './answers.ts'
import type { Components } from './components.ts'

/** What the webhook host answers in place of what was asked. */
const REFUSED: JsonSchema = {
  type: 'object',
  properties: {
    ok: { type: 'boolean', const: false },
    reason: { type: 'string', description: 'A code.' },
    message: { type: 'string', description: 'For people; it can change.' },
  },
  required: ['ok', 'reason', 'message'],
}

/** A delivery that is kept, though nobody can use it. */
export const deadLetter = (description: string): JsonSchema => ({
  ...REFUSED,
  properties: { ...REFUSED.properties, reason: { type: 'string', const: 'dead_letter' } },
  description,
})

/** Answers of that form. */
export const refusals =
  (components: Components) =>
  (description: string, reason: string, message: string): Answer => ({
    description,
    headers: components.requestId(),
    content: {
      'application/json': {
        schema: components.schema('WebhookRefusal', () => REFUSED),
        example: { ok: false, reason, message },
      },
    },
  })
