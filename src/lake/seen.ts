/** Repeats of an event id are dropped within this many days of the first. */
export const SEEN_DAYS = 14

/** Which of the ids that came are compared with, as a condition in DuckDB: days are whole. */
export const IS_RECENT = `received_on >= current_date - ${SEEN_DAYS + 1}`
