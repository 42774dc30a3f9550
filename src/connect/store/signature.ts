import { createHmac, timingSafeEqual } from 'node:crypto'

/** 32 bytes in canonical base64: Buffer.from takes junk, other alphabets and stray bits of the last digit. */
const CANONICAL = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/

export const isSignature = (text: string | undefined): text is string =>
  text !== undefined && CANONICAL.test(text)

export const signatureOf = (body: Buffer, secret: string): string =>
  createHmac('sha256', secret).update(body).digest('base64')

/** Whether a signature is the HMAC-SHA256 of exactly these bytes, in constant time. */
export function isSignedBy(body: Buffer, signature: string, secret: string): boolean {
  if (!isSignature(signature)) return false
  const expected = createHmac('sha256', secret).update(body).digest()
  return timingSafeEqual(expected, Buffer.from(signature, 'base64'))
}
