/**
 * Of a host in any script, or of signs, the dot may be one of East Asia; after a name two letters make a domain. Seven
 * digits are a number to call, in groups by spaces, dashes, brackets or slashes.
 */
const CLICKABLE =
  /:\/\/|@|\bwww[.。]|\b(?:mailto|tel|sms):|[\p{L}\p{N}\p{S}-][.。]\p{L}[\p{L}\p{N}-]|\d[.。]\d+[.。]\d+[.。]\d|\p{Nd}(?:[ ()/\p{Pd}]{0,2}\p{Nd}){6}/iu

/** Seven digits, whatever parts them: of amounts, dates and lists of sizes this would be too much. */
const NUMBER = /\p{Nd}(?:[^\p{L}\p{N}]{0,3}\p{Nd}){6}/u

/** A text as a reader sees it, whatever is hidden between its letters. */
export const seen = (text: string): string =>
  text.normalize('NFKC').replace(/[\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')

/** Whether a text holds what a phone or a mail program may turn into a link, whoever wrote it. */
export const isClickable = (text: string): boolean => CLICKABLE.test(seen(text))

/** The same of a name, which has nothing to do with numbers. */
export const isClickableName = (name: string): boolean => isClickable(name) || NUMBER.test(seen(name))
