/**
 * SQL of a text as a search compares it: in whatever case, with or without accents. Both sides of a comparison are folded
 * by DuckDB: JavaScript lowers a capital I with a dot to two characters and a Σ by its place in the word, DuckDB does
 * neither. By way of upper case letters of two small forms (σ and ς) become one.
 */
export const folded = (text: string): string => `strip_accents(lower(upper(${text})))`
