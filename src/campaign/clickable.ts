/**
 * Of a host in any script, or of signs, the dot may be one of East Asia; after a name two letters make a domain. Seven
 * digits are a number to call, however they are grouped.
 */
const CLICKABLE =
  /:\/\/|@|\bwww[.。]|\b(?:mailto|tel|sms):|[\p{L}\p{N}\p{S}-][.。]\p{L}[\p{L}\p{N}-]|\d[.。]\d+[.。]\d+[.。]\d|\p{Nd}(?:[ ()/\p{Pd}]{0,2}\p{Nd}){6}/iu

/** Whether a text holds what a phone or a mail program may turn into a link, whoever wrote it. */
export const isClickable = (text: string): boolean =>
  CLICKABLE.test(text.normalize('NFKC').replace(/[\p{Cf}\p{M}]/gu, ''))
