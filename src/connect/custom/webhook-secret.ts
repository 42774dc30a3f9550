import { randomBytes } from 'node:crypto'
import type { Sealing } from '../../op.ts'

/** The key of the signatures is this text itself, in UTF-8. */
export const makeWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64url')}`

/** What it is sealed for, so that the secret of one provider cannot stand in for another's. */
export const secretPlace = (providerId: string): string => `the webhook secret of provider ${providerId}`

export const sealSecret = (seal: Sealing, providerId: string, secret: string): Buffer =>
  seal.seal(Buffer.from(secret), secretPlace(providerId))
