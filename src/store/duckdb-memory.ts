/*
 * DuckDB's allocator reads this once, when the library is loaded. By its defaults it gives freed pages back after a
 * second, in two steps, and refreshes of small brands have them faulted in again.
 */
process.env.DUCKDB_JE_MALLOC_CONF ??= 'dirty_decay_ms:30000,muzzy_decay_ms:0,tcache_max:1048576'
