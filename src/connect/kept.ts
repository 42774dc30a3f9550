/**
 * Bodies that a brand may keep of webhooks that could not be read or stored, in bytes and in number. Beyond it the oldest
 * go, and their rows stay with the reason: what came last is what an operator can still do something about, and nobody who
 * has a secret can fill the disk of all brands.
 */
export const KEPT = { bytes: 64 << 20, most: 5_000 } as const

/** What a row says whose body went, behind its reason. */
export const NO_LONGER_KEPT = '; its body is no longer kept: newer ones came to 64 MB or 5,000'

/** Bytes of kept bodies that are read at once; a single one may be longer. */
export const SLICE_BYTES = 8 << 20
