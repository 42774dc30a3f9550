import { resolve } from 'node:path'
import { keyFile } from '../access/seal.ts'
import { sealProblem } from '../access/service-seal.ts'
import { backup } from '../lake/backup.ts'
import { type Restored, restore } from '../lake/restore.ts'
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

const ended = ({ campaigns: { messages, runs } }: Restored) => ({
  ended_messages: messages,
  ended_runs: runs,
})

/** Who was erased after the backup is back: by which certificates to erase them again, and how. */
const eraseAgain = ({ made_at }: Restored) => ({
  completed_after: made_at,
  command: 'recoup customer erase --brand BRAND_ID CUSTOMER_ID',
})

export const backupCommands = [
  command({
    name: 'backup',
    arguments: ['FOLDER'],
    what: 'Write all tables, as of one instant, and the lake into an empty folder; the service may run',
    options: {},
    stops: true,
    run: async ({ app: open, config, positionals: [given], progress, stop: { signal } }) => {
      const folder = resolve(given)
      const { pipeline } = await open()
      const shown = progress('backup')
      const document = await backup(pipeline, folder, shown.update, signal)
      shown.end()
      const secret_key = config.secretKey === null ? keyFile(config) : 'SECRET_KEY'
      return { folder, ...summary(document), secret_key }
    },
    text: ({ folder, tables, files, secret_key }) =>
      [
        `${folder}: ${tables} tables and ${files} lake files`,
        `The key that seals the secrets in it is not: keep ${secret_key} apart, for whoever restores.`,
      ].join('\n'),
  }),
  command({
    name: 'restore',
    arguments: ['FOLDER'],
    what: 'Fill an empty service from a backup; exit code 1 although all is restored: its secret key is not here yet',
    begins: true,
    options: {},
    run: async ({ app: open, positionals: [folder], progress }) => {
      const app = await open()
      const { postgres, pipeline } = app
      const shown = progress('restore')
      const document = await restore(postgres.url, pipeline.lakeDir, resolve(folder), shown.update)
      shown.end()
      return {
        ...summary(document),
        ...ended(document),
        erase_again: eraseAgain(document),
        secret_key_problem: await sealProblem(app),
      }
    },
    text: ({
      tables,
      files,
      made_at,
      ended_messages,
      ended_runs,
      erase_again,
      secret_key_problem: problem,
    }) =>
      [
        `Restored ${tables} tables and ${files} lake files of ${made_at}`,
        'What happened since then is not in it: opt-outs, too, but for those that a connected store tells of again. Active',
        'campaigns start at what happens from now on, at entries of segments from in five hours. What was due since then may',
        'have been sent, and is not sent again:',
        `${ended_messages} messages and ${ended_runs} runs ended as “send_unknown”.`,
        'Who was erased since then is back, and can be messaged. Erase them again before recoup work starts, by the certificates',
        `that you keep with a completed_at after ${erase_again.completed_after}, each with its brand_id and customer_ids:`,
        erase_again.command,
        ...(problem === null ? [] : [`The service does not start yet. ${problem}`]),
        `${problem === null ? 'Now' : 'Then'} start recoup serve and recoup work.`,
      ].join('\n'),
    fails: ({ secret_key_problem }) => secret_key_problem !== null,
  }),
]
