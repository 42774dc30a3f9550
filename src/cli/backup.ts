import { resolve } from 'node:path'
import { backup } from '../lake/backup.ts'
import { restore } from '../lake/restore.ts'
import { command } from './command.ts'

const summary = ({
  tables,
  files,
  made_at,
}: {
  tables: unknown[]
  files: { bytes: number }[]
  made_at: string
}) => ({
  made_at,
  tables: tables.length,
  files: files.length,
  bytes: files.reduce((sum, file) => sum + file.bytes, 0),
})

export const backupCommands = [
  command({
    name: 'backup',
    arguments: ['FOLDER'],
    what: 'Write all tables, as of one instant, and the lake into an empty folder; the service may run',
    options: {},
    run: async ({ app: open, positionals: [given], progress }) => {
      const folder = resolve(given)
      const { pipeline } = await open()
      const shown = progress('backup')
      const document = await backup(pipeline, folder, shown.update)
      shown.end()
      return { folder, ...summary(document) }
    },
    text: ({ folder, tables, files }) => `${folder}: ${tables} tables and ${files} lake files`,
  }),
  command({
    name: 'restore',
    arguments: ['FOLDER'],
    what: 'Fill an empty service from a backup',
    options: {},
    run: async ({ app: open, positionals: [folder], progress }) => {
      const { postgres, pipeline } = await open()
      const shown = progress('restore')
      const document = await restore(postgres.url, pipeline.lakeDir, resolve(folder), shown.update)
      shown.end()
      return summary(document)
    },
    text: ({ tables, files, made_at }) => `Restored ${tables} tables and ${files} lake files of ${made_at}`,
  }),
]
