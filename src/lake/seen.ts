/** Repeats of an event id are dropped within this many days of the first. */
export const SEEN_DAYS = 14

/** Which ids events that were received on a day, or later, are compared with, as a condition in DuckDB: days are whole. */
export const isSeen = (day: string): string => `received_on >= date '${day}' - ${SEEN_DAYS + 1}`
