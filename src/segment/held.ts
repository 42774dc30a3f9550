/** As long as a source, and read by no rule. */
const LONG: ReadonlySet<string> = new Set(['orders', 'profiles', 'subscriptions', 'products'])

/**
 * Whether a mart of all customers is held in memory during a refresh. The others are written into the published file
 * as they are computed: their rows as tables take more memory than all that segments need.
 */
export const isHeld = (mart: string): boolean => !LONG.has(mart)
