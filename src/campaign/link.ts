import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import type { Statements } from '../op.ts'

export type LinkKind = 'cart' | 'checkout' | 'url' | 'opt_out'

/** The message that links stand in. */
export interface LinkPlace {
  messageId: string
  conversationId: string
  campaignId: string | null
}

export const LINK_PATH = '/t/'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 71 bits: nobody finds one by trying. */
const CODE_LENGTH = 12
const CODE = /^([0-9A-Za-z]{12})[\p{P}\p{S}\p{Cf}\s]*$/u

/** The code of an address, behind which more may have been copied along. */
export const codeOf = (sent: string): string | undefined => CODE.exec(sent)?.[1]

/** Characters that are as likely as each other: bytes beyond a multiple of 62 are drawn again. */
export function newCode(): string {
  let code = ''
  while (code.length < CODE_LENGTH)
    for (const byte of randomBytes(2 * CODE_LENGTH))
      if (byte < 248 && code.length < CODE_LENGTH) code += ALPHABET[byte % 62]
  return code
}

/**
 * Makes a shortened link of a message, within the transaction that writes it; `url` is null for what has a page of
 * ours. Resolves with its address.
 */
export async function shorten(
  tx: Pick<Statements, 'run'>,
  { messageId, conversationId, campaignId }: LinkPlace,
  { kind, url }: { kind: LinkKind; url: string | null },
  baseUrl: string,
): Promise<string> {
  const code = newCode()
  await tx.run('short_link_insert', [v7(), code, messageId, conversationId, campaignId, kind, url])
  return `${baseUrl}${LINK_PATH}${code}`
}
