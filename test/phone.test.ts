import t from 'tap'
import { phoneOf } from '../src/identity/channel.ts'
import { textsOf } from '../src/ops/customer-rows.ts'

t.test('a phone is read in the digits of any script, also in a search', async (t) => {
  for (const [written, default_phone_region, phone] of [
    ['٠٥٠١٢٣٤٥٦٧', 'SA', '+966501234567'],
    ['۰۹۱۲۱۲۳۴۵۶۷', 'IR', '+989121234567'],
    ['０９０－１２３４－５６７８', 'JP', '+819012345678'],
    ['0812‐3456‑789', 'ID', '+628123456789'],
    ['\u202a+49 30 901820\u202c', 'US', '+4930901820'],
  ] as const) {
    t.equal(phoneOf(written, default_phone_region), phone)
    t.ok(textsOf(written, { default_phone_region }).includes(phone), written)
  }
})

t.test('a number as it was before its country changed it is the number of today', async (t) => {
  t.equal(phoneOf('+52 1 55 1234 5678', 'US'), '+525512345678')
  t.equal(phoneOf('+525512345678', 'US'), '+525512345678')
  t.equal(phoneOf('+229 97 12 34 56', 'US'), '+2290197123456')
  t.equal(phoneOf('+52 1 55', 'US'), undefined)
})
