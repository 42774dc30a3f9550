const TAKEN = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i

/** Whether an Accept-Encoding header takes gzip. */
export const takesGzip = (header = ''): boolean => TAKEN.test(header)
