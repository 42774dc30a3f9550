import { phoneOf } from '../../identity/channel.ts'
import type { Duck } from '../../store/duckdb.ts'

/** The table `phone (given, number)`: each phone of `picked` as E.164, null where it is none. */
export async function loadPhones(duck: Duck, region: string): Promise<void> {
  const rows = await duck.rows<{ phone: string }>('select distinct phone from picked where phone is not null')
  await duck.run('create table phone (given varchar, number varchar)')
  const appender = await duck.connection.createAppender('phone')
  for (const { phone } of rows) {
    const number = phoneOf(phone, region)
    appender.appendVarchar(phone)
    if (number === undefined) appender.appendNull()
    else appender.appendVarchar(number)
    appender.endRow()
  }
  appender.closeSync()
}
