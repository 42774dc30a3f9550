import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a signature looks like. Decoding first would take 64 good digits with anything behind them for one. */
export const isSignature = (text: string | undefined): text is string =>
  text !== undefined && /^[0-9a-f]{64}$/.test(text)

/** HMAC-SHA256 of the bytes as they came, in lower-case hexadecimal. */
export const signatureOf = (secret: Buffer, body: Buffer): string =>
  createHmac('sha256', secret).update(body).digest('hex')

/** Compares in constant time. */
export const isSigned = (secret: Buffer, body: Buffer, signature: string): boolean =>
  isSignature(signature) &&
  timingSafeEqual(Buffer.from(signatureOf(secret, body), 'latin1'), Buffer.from(signature, 'latin1'))
