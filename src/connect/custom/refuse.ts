import { type Code, type Failure, fail } from '../../errors.ts'

/** Why a delivery is refused, as the answer's `reason` has it, with the status that goes with it. */
export const REASONS = {
  missing_webhook_id: 'bad_request',
  unknown_webhook: 'not_found',
  secret_not_configured: 'unauthorized',
  invalid_signature: 'unauthorized',
  invalid_content_type: 'bad_request',
  empty_body: 'bad_request',
  malformed_json: 'bad_request',
  missing_field: 'bad_request',
  topic_mismatch: 'bad_request',
  event_id_mismatch: 'bad_request',
  invalid_payload: 'bad_request',
  unknown_event_type: 'not_found',
  schema_violation: 'bad_request',
  missing_external_id: 'unprocessable',
  missing_contact_channel: 'unprocessable',
  contact_channel_conflict: 'unprocessable',
} as const satisfies Record<string, Code>

export type Reason = keyof typeof REASONS

/** A refusal, to be thrown: nothing was stored and the event id is not used up. */
export const refuse = (reason: Reason, message: string): Failure =>
  fail(REASONS[reason], message, { beside: { reason } })
