import './duckdb-memory.ts'

export * from '@duckdb/node-api'
export { default as accessors } from '@duckdb/node-api/lib/vectors/dataAccessors.js'
