import './duckdb-memory.ts'

export * from '@duckdb/node-api'
