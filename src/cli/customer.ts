import { createInterface } from 'node:readline/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { App } from '../app.ts'
import { recordTold } from '../campaign/told-consent.ts'
import { type Certificate, readable } from '../connect/erase/certificate.ts'
import { type DueOptions, eraseDue } from '../connect/erase/due.ts'
import { dataOf } from '../connect/erase/person-data.ts'
import { type Preview, personOf, previewErasure } from '../connect/erase/preview.ts'
import { fail } from '../errors.ts'
import { requestErasure } from '../identity/erasure-request.ts'
import { PAUSE_MINUTES } from '../lake/backup.ts'
import { REMOVAL_PAUSED } from '../lake/erase-disk.ts'
import { snapshotAll } from '../lake/horizon.ts'
import type { Pipeline } from '../lake/pipeline.ts'
import type { Brand } from '../op.ts'
import { persistently } from '../store/persistently.ts'
import { choiceOption, command, type Run, UsageError } from './command.ts'
import { namedBy, severalWords, wordsOf } from './named.ts'
import { brand, ofBrand } from './of-brand.ts'
import { heedInterrupt } from './stop.ts'
import { table } from './table.ts'

const STEPS = 7
const POLL_MS = 1_000

interface ErasureRow {
  id: string
  state: string
  requested_by: string
  requested_at: Date
  due_at: Date
  completed_at: Date | null
  error: string | null
  certificate: Certificate | null
}

export const customerCommands = [
  command({
    name: 'customer export',
    arguments: ['IDENTIFIER'],
    what: 'Print all that is stored of a customer as JSON, what segments and models say among it: by email, phone, store id, customer or contact id',
    options: { brand },
    run: async (run) => {
      const [identifier] = run.positionals
      const { app, brand: found } = await ofBrand(run)
      const { pipeline } = app
      await snapshotAll(pipeline)
      return await dataOf(pipeline, found, await knownBy(pipeline, found, identifier))
    },
    text: (data) => JSON.stringify(data, null, 2),
  }),
  command({
    name: 'customer consent',
    arguments: ['IDENTIFIER'],
    what: 'Record what a customer told support on being messaged: by email, phone, store id, customer or contact id',
    options: {
      brand,
      channel: { type: 'string', required: true, placeholder: 'CHANNEL', what: 'sms or email' },
      state: { type: 'string', required: true, placeholder: 'STATE', what: 'unsubscribed or subscribed' },
    },
    run: async (run) => {
      const [identifier] = run.positionals
      const channel = choiceOption(run.values, 'channel', ['sms', 'email'])
      const state = choiceOption(run.values, 'state', ['unsubscribed', 'subscribed'])
      const { app, brand: found, db } = await ofBrand(run)
      const { pipeline } = app
      const { subjects, customerIds, identifiers } = await knownBy(pipeline, found, identifier)
      const speaker = { subjects, customerIds, emails: identifiers.email, phones: identifiers.phone }
      const told = { channel, state, at: new Date() }
      const recorded = await persistently(() => db.tx((tx) => recordTold(tx, found.id, speaker, told)))
      if (recorded === null)
        throw new UsageError(
          `No contact of ${identifier} at ${found.name} has ${channel === 'sms' ? 'a phone number' : 'an email address'}: nothing was recorded.`,
        )
      return { identifier, channel, state, recorded: recorded.isNews }
    },
    text: ({ identifier, channel, state, recorded }) =>
      `${identifier} is ${state} ${state === 'subscribed' ? 'to' : 'from'} ${channel}${recorded ? '' : ', as was recorded before'}`,
  }),
  command({
    name: 'customer erase',
    arguments: ['IDENTIFIER'],
    what: 'Erase a customer everywhere and print the certificate: by email, phone, store id, customer or contact id',
    options: {
      brand,
      yes: { type: 'boolean', what: 'Do not ask' },
      unknown: {
        type: 'boolean',
        what: 'Also when nobody has the identifier: what names it goes and stays out',
      },
    },
    run: async (run) => {
      const [identifier] = run.positionals
      const { app, brand: found, db } = await ofBrand(run)
      const { pipeline } = app
      const { whom, standing, others } = await namedBy(pipeline, found, identifier)
      if (!standing.known && standing.erasureId !== null) {
        const certificate = await eraseAndWait(run, app, found.id, standing.erasureId)
        process.stderr.write(`${identifier} of ${found.name} was erased before. This is the certificate.\n`)
        return certificate
      }
      if (!standing.known && run.values.unknown !== true)
        throw new UsageError(
          `Nobody of ${found.name} has the identifier ${identifier}: nothing was erased. With --unknown what names it all the same goes and stays out.`,
        )
      if (others.length > 0)
        throw new UsageError(
          `Nobody of ${found.name} has the identifier: nothing was erased. ${severalWords(identifier, [whom, ...others])}`,
        )
      if (!Object.values(whom).includes(identifier.trim()))
        process.stderr.write(`${identifier} is read as ${wordsOf(whom)} of ${found.name}.\n`)
      if (run.values.yes !== true)
        await confirm(identifier, await previewErasure(pipeline, found, whom), found.name)
      const { erasureId } = await db.tx((tx) => requestErasure(tx, whom, 'cli'))
      return await eraseAndWait(run, app, found.id, erasureId)
    },
  }),
  command({
    name: 'customer erasures',
    what: 'List erasures of a brand; with --json also their certificates',
    options: { brand },
    run: async (run) => {
      const { app, brand: found } = await ofBrand(run)
      const rows = await app.postgres.pipeline.many<ErasureRow>('erasures_of_brand', [found.id])
      return {
        data: rows.map((row) => ({ ...row, certificate: row.certificate && readable(row.certificate) })),
      }
    },
    text: ({ data }) =>
      table(
        ['id', 'state', 'requested by', 'requested at', 'due at', 'completed at', 'error'],
        data.map((row) => [
          row.id,
          row.state,
          row.requested_by,
          row.requested_at,
          row.due_at,
          row.completed_at,
          row.error,
        ]),
      ),
  }),
]

async function knownBy(pipeline: Pipeline, of: Brand, identifier: string) {
  const { whom, standing } = await namedBy(pipeline, of, identifier)
  if (!standing.known) throw new UsageError(`Nobody of ${of.name} has the identifier ${identifier}.`)
  return await personOf(pipeline, of, whom)
}

/** Shows what there is, and asks whoever sits at the terminal. */
async function confirm(identifier: string, preview: Preview, brandName: string): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError('customer erase: without a terminal, --yes is needed')
  const { customer_ids, ...counts } = preview
  const known = customer_ids.length
    ? `${customer_ids.join(', ')} of ${brandName}:\n${table(Object.keys(counts), [Object.values(counts)])}`
    : `No customer of ${brandName} has this identifier. What names it goes, and older data stays out.`
  process.stderr.write(`${known}\n`)
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  heedInterrupt(reader)
  try {
    const answer = await reader.question(`This cannot be undone. Type ${identifier} to erase: `)
    if (answer.trim() !== identifier) throw new UsageError('customer erase: nothing was erased')
  } finally {
    reader.close()
  }
}

/** Does the request here, or waits for the worker that has taken it, and for a backup that needs the files. */
async function eraseAndWait(run: Run, app: App, brandId: string, erasureId: string): Promise<Certificate> {
  const { postgres, pipeline } = app
  const shown = run.progress('erase')
  for (;;) {
    // Each try begins with the first step.
    let done = 0
    const options: DueOptions = { brandId, erasureId, onStep: () => shown.update(done++, STEPS) }
    const tried = await Promise.allSettled([eraseDue(pipeline, options)])
    const row = await postgres.pipeline.one<ErasureRow>('erasure_state', [brandId, erasureId])
    if (row.certificate) {
      shown.end()
      return readable(row.certificate)
    }
    if (row.state === 'failed' && row.error === REMOVAL_PAUSED) {
      await backupsEnd(pipeline)
      await postgres.pipeline.run('erasure_try_now', [brandId, erasureId])
      continue
    }
    if (tried[0].status === 'rejected') throw tried[0].reason
    if (row.state === 'failed') throw fail('unavailable', `It failed and will be tried again: ${row.error}`)
    await pause(POLL_MS)
  }
}

async function backupsEnd({ postgres }: Pipeline): Promise<void> {
  const isPaused = async () =>
    (await postgres.pipeline.one<{ paused: boolean }>('lake_removal_paused')).paused
  if (!(await isPaused())) return
  process.stderr.write(
    `They are out of all that is read. Old files go once no backup may need them, within ${PAUSE_MINUTES} minutes of its end; without this command the worker removes them.\n`,
  )
  while (await isPaused()) await pause(POLL_MS)
}
