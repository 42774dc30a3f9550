/** A text of somebody else as Postgres takes it: without U+0000, which it has no place for, and halves of characters. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()
