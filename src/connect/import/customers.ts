import { assignSubjects } from '../../identity/subject.ts'
import { hashInChunks } from '../../store/hash.ts'
import { persistently } from '../../store/persistently.ts'
import type { Transaction } from '../../store/postgres.ts'
import { statement } from '../../store/sqlfile.ts'
import { askOf } from './ask.ts'
import { loadEmails, loadPhones } from './channels.ts'
import { type Chunk, identitiesOf, inStoreTurn, writeChunks } from './chunks.ts'
import { importConsents } from './consents.ts'
import { importContacts } from './contacts.ts'
import { erasedRows } from './erased.ts'
import type { ImportRun, Written } from './file.ts'

/** Hexadecimal digits of a file's hash that tell it from others of a brand. */
const TELLING_DIGITS = 16

/** Writes the customer records of the table `picked`, and what they say on consent. */
export async function importCustomers(run: ImportRun): Promise<Written> {
  const { duck, brand, storePlatformDomain, mapped, file } = run
  await loadEmails(duck)
  await loadPhones(duck, brand.default_phone_region)
  await duck.run(statement('duckdb', 'import_customer_ready'))
  const tellsConsent = mapped.some(({ target }) => target === 'email_consent' || target === 'sms_consent')
  const source = tellsConsent
    ? `import ${(await hashInChunks(file)).toString('hex').slice(0, TELLING_DIGITS)}`
    : ''
  let ofErased = 0
  const write = async ({ rows, consents, identities = '[]' }: Chunk) => {
    let erased = 0
    const work = async (tx: Transaction) => {
      const named = identitiesOf(identities, new Date())
      const subjects = await assignSubjects(tx, brand.id, named, { storePlatformDomain, source: 'import' })
      const ask = askOf(tx, brand.id)
      const rewritten = await ask<{ subject: number }>('import_customers', [rows, [...subjects], false])
      const changed = rewritten.map(({ subject }) => subject)
      erased = (await erasedRows(tx, run, named)).filter(Boolean).length
      await importContacts(ask, rows, subjects, changed)
      const heard = consents ? await importConsents(ask, consents, subjects, source) : []
      return new Set([...changed, ...heard]).size
    }
    // Messages that come in make contacts meanwhile, and hold them.
    const imported = await persistently(() => inStoreTurn(run, work))
    ofErased += erased
    return imported
  }
  const written = await writeChunks(run, 'import_customer_chunk', write)
  return { ...written, unchanged: written.unchanged - ofErased, of_erased: ofErased }
}
