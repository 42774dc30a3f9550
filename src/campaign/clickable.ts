/** Of a host in any script the dot may be one of East Asia; what follows a name needs two letters to be a domain. */
const CLICKABLE =
  /:\/\/|@|\bwww[.。]|\b(?:mailto|tel|sms):|[\p{L}\p{N}-][.。]\p{L}[\p{L}\p{N}-]|\d[.。]\d+[.。]\d+[.。]\d/iu

/** Whether a text holds what a phone or a mail program may turn into a link, whoever wrote it. */
export const isClickable = (text: string): boolean =>
  CLICKABLE.test(text.normalize('NFKC').replace(/[\p{Cf}\p{Mn}]/gu, ''))
