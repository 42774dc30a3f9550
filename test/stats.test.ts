import type { DuckDBConnection } from '@duckdb/node-api'
import t from 'tap'
import { METRIC_NAMES } from '../src/campaign/metric.ts'
import { dayIn, daysOf, rangesOf } from '../src/campaign/range.ts'
import { statistics } from '../src/campaign/statistics.ts'
import { loadModels } from '../src/model/graph.ts'
import type { Reader } from '../src/op.ts'
import { knownTimezone } from '../src/time.ts'
import { fillRelations, withModels } from './fixtures/model-case.ts'
import { naiveStats } from './fixtures/naive-stats.ts'
import { type RandomSource, randomSource } from './fixtures/random.ts'
import { type Attributed, attributedOf, DAY, happen, newTalkBrand, type TalkBrand } from './fixtures/talk.ts'

const BRANDS = Number(process.env.MODEL_BRANDS ?? 200)
/** Around it the clocks change in New York and Auckland. */
const NOW = Date.parse('2026-03-25T06:30:00Z')
const CAMPAIGNS = ['one', 'other']
const models = await loadModels()

const time = (at: number | null) => (at === null ? null : new Date(at).toISOString().replace('Z', ''))
const money = (cents: number) => (cents / 100).toFixed(2)

async function fill(
  connection: DuckDBConnection,
  brand: TalkBrand,
  attributed: ReadonlyMap<string, Attributed>,
): Promise<void> {
  const talks = new Map(brand.talks.map((talk) => [talk.id, talk]))
  const orders = new Map(brand.orders.map((order) => [order.id, order]))
  await fillRelations(connection, {
    subject_redirect: [...brand.redirects].map(([subject, customer]) => ({ subject, customer })),
    conversations: brand.talks.map(({ id, subject, campaign, channel, createdAt, optedOutAt }) => ({
      ...{ conversation_id: id, subject, campaign_id: campaign, channel },
      ...{ opted_out_at: time(optedOutAt), created_at: time(createdAt) },
    })),
    messages: brand.said.map(({ id, conversation, direction, createdAt, sentAt, deliveredAt }) => ({
      ...{
        message_id: id,
        conversation_id: conversation,
        direction,
        channel: talks.get(conversation)?.channel,
      },
      ...{ campaign_id: talks.get(conversation)?.campaign ?? null, created_at: time(createdAt) },
      ...{ sent_at: time(sentAt), delivered_at: time(deliveredAt) },
    })),
    link_clicks: brand.clicks.map(({ id, message, conversation, at }) => ({
      ...{ click_id: id, message_id: message, conversation_id: conversation, clicked_at: time(at) },
    })),
    attributions: [...attributed].map(([id, { conversation, campaign, recovered }]) => {
      const order = orders.get(id)
      return {
        ...{ order_id: id, conversation_id: conversation, campaign_id: campaign, recovered },
        ...{ ordered_at: time(order?.at ?? 0), currency_code: order?.currency },
        amount: money((order?.cents ?? 0) - (order?.refundedCents ?? 0)),
      }
    }),
    params: [{ as_of: time(NOW + 365 * DAY), timezone: brand.timezone, currency_code: brand.currency }],
  })
}

const readerOf = (connection: DuckDBConnection): Reader => ({
  generation: 0,
  rows: async <Row>(statement: string, values: unknown[] = []) =>
    (await connection.runAndReadAll(statement, values as never)).getRowObjectsJson() as Row[],
})

/** Some days up to about now, and others to compare them with, which may overlap. */
function randomAsked(random: RandomSource, brand: TalkBrand) {
  const timezone = random.pick([brand.timezone, 'UTC', 'America/New_York', 'Pacific/Auckland'])
  const day = (back: number) => dayIn(timezone, new Date(NOW - back * DAY))
  const [last, length] = [random.below(4), random.pick([1, 2, 7, 30])]
  const sent = random.chance(0.3) ? {} : { from: day(last + length - 1), to: day(last) }
  const compare = random.chance(0.3)
    ? { compare_from: day(last + length + 3), compare_to: day(last + 3) }
    : {}
  const campaign = random.chance(0.4) ? random.pick(CAMPAIGNS) : null
  return { timezone, campaign, ...rangesOf({ ...sent, ...compare }, day(0)) }
}

t.test(`statistics equal a naive look at ${BRANDS} random brands`, async (t) => {
  const random = randomSource(t)
  const seen = new Set<string>()
  await withModels(models, {}, async (connection) => {
    for (let n = 0; n < BRANDS; n++) {
      const brand = newTalkBrand(random, CAMPAIGNS)
      let attributed = new Map<string, Attributed>()
      for (let round = 0; round < 2; round++) {
        happen(random, brand, NOW, 40)
        attributed = attributedOf(brand, attributed)
      }
      await fill(connection, brand, attributed)
      const { timezone, campaign, range, compare } = randomAsked(random, brand)
      const of = campaign ? { campaignIds: [campaign] } : {}
      const measured = await statistics(readerOf(connection), { timezone, range, compare, ...of })
      const naive = (asked: { from: string; to: string }) =>
        naiveStats(brand, attributed, { ...asked, timezone, campaign })
      const [now, before] = [naive(range), naive(compare)]
      const chartOf = (days: string[]) => days.map((day) => naive({ from: day, to: day }))
      const [days, daysBefore] = [chartOf(daysOf(range)), chartOf(daysOf(compare))]
      for (const name of METRIC_NAMES) {
        const [current, previous] = [now[name], before[name]]
        const change = ((Number(current) - Number(previous)) / Math.abs(Number(previous))) * 100
        const wanted = {
          ...{ current, previous, progress: Number(previous) === 0 ? 0 : Math.round(change * 100) / 100 },
          chart: { dates: daysOf(range), values: days.map((day) => Number(day[name])) },
          comparison: { dates: daysOf(compare), values: daysBefore.map((day) => Number(day[name])) },
        }
        const found = measured(name)
        if (JSON.stringify(found) !== JSON.stringify(wanted))
          return void t.same(
            found,
            wanted,
            `brand ${n}, ${name}, ${JSON.stringify({ timezone, range, compare })}`,
          )
        if (Number(current) > 0 && Number(previous) > 0) seen.add(name)
      }
    }
  })
  t.same([...seen].sort(), [...METRIC_NAMES].sort(), 'each metric was something, and something before')
})

t.test('a day has the hours that it has in its zone', async (t) => {
  await withModels(models, {}, async (connection) => {
    // On 8 March 2026 New York has 23 hours, from 5:00 to 4:00 of UTC; on 1 November 25.
    const times = ['2026-03-08T04:59:59', '2026-03-08T05:00:00', '2026-03-09T03:59:59', '2026-03-09T04:00:00']
    await connection.run(`delete from params`)
    await connection.run(
      `insert into params (as_of, timezone, currency_code) values ('2027-01-01', 'UTC', 'USD')`,
    )
    for (const [n, at] of [...times, '2026-11-01T04:00:00', '2026-11-02T04:59:59'].entries())
      await connection.run(
        `insert into conversations (conversation_id, created_at) values ('c${n}', '${at}');
        insert into messages (conversation_id, direction, created_at, sent_at) values ('c${n}', 'outbound', '${at}', '${at}')`,
      )
    const of = async (from: string, to: string) => {
      const { range, compare } = rangesOf({ from, to }, to)
      const measured = await statistics(readerOf(connection), {
        range,
        compare,
        timezone: 'America/New_York',
      })
      return measured('conversations_started').chart
    }
    t.same(await of('2026-03-07', '2026-03-09'), {
      dates: ['2026-03-07', '2026-03-08', '2026-03-09'],
      values: [1, 2, 1],
    })
    t.same(await of('2026-11-01', '2026-11-01'), { dates: ['2026-11-01'], values: [2] })
  })
})

t.test('ranges are the last 30 days against those before, as far as they are not given', async (t) => {
  const today = '2026-03-10'
  const of = (sent: object) => {
    const { range, compare } = rangesOf(sent, today)
    return [range.from, range.to, compare.from, compare.to]
  }
  t.same(of({}), ['2026-02-09', today, '2026-01-10', '2026-02-08'])
  t.same(of({ from: today }), [today, today, '2026-03-09', '2026-03-09'])
  t.same(of({ to: '2026-03-01' }), ['2026-01-31', '2026-03-01', '2026-01-01', '2026-01-30'])
  t.same(of({ from: '2026-03-08', compare_from: '2025-03-08' }), [
    ...['2026-03-08', today, '2025-03-08', '2025-03-10'],
  ])
  t.same(of({ from: '2026-03-08', compare_to: '2025-03-10' }), [
    ...['2026-03-08', today, '2025-03-08', '2025-03-10'],
  ])
  t.throws(() => of({ from: '2026-03-11' }), /^to must not be before from/)
  t.throws(
    () => of({ compare_from: '2026-03-02', compare_to: '2026-03-01' }),
    /^compare_to must not be before/,
  )
  t.equal(of({ from: '2023-03-12' })[0], '2023-03-12', '1,095 days')
  t.throws(() => of({ from: '2023-03-11' }), /^from must be at most 1,094 days before to$/)
  t.equal(knownTimezone('US/Eastern'), 'America/New_York')
  for (const wrong of ['', '+02:00', 'Mars/Phobos', "UTC'"]) t.equal(knownTimezone(wrong), undefined, wrong)
})
