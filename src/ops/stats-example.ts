/** Performance, as the documents show it. */

const BRAND_ID = '01890a5d-ac96-774b-bcce-b302099a8057'
const CAMPAIGN_ID = '0193d2c9-41aa-7c1e-b0a5-6de0f7123b94'

const RATE = {
  name: 'recovery_rate',
  title: 'Recovery rate',
  current_value: '12.50',
  previous_value: '10.00',
  progress: 25,
}

export const STATS = {
  query: {
    stats: ['recovery_rate', 'profit'],
    from: '2026-11-19',
    to: '2026-11-20',
    timezone: 'Europe/Berlin',
  },
  output: {
    stats: [
      {
        ...RATE,
        description: 'Of the conversations begun, in per cent, those with a recovered order by now.',
        chart: { dates: ['2026-11-19', '2026-11-20'], values: [0, 25] },
        comparison_chart: { dates: ['2026-11-17', '2026-11-18'], values: [10, 10] },
      },
    ],
    errors: ['profit'],
    date_range: {
      from: '2026-11-19',
      to: '2026-11-20',
      compare_from: '2026-11-17',
      compare_to: '2026-11-18',
    },
    brand_id: BRAND_ID,
    query: { stats: ['recovery_rate', 'profit'], campaign_id: null, timezone: 'Europe/Berlin' },
  },
}

export const COMPARED = {
  query: { stats: ['recovery_rate'], from: '2026-11-19', to: '2026-11-20' },
  output: {
    brand_id: BRAND_ID,
    date_range: { from: '2026-11-19', to: '2026-11-20' },
    stats: ['recovery_rate'],
    campaigns: [
      {
        id: CAMPAIGN_ID,
        name: 'Abandoned checkouts over 50',
        type: 'checkout_recovery',
        status: 'active',
        is_paused: false,
        stats: [RATE],
        errors: [],
      },
    ],
    errors: [],
    notes: [
      'Days are those of Europe/Berlin, compared with 2026-11-17 to 2026-11-18.',
      'Amounts are in EUR, rates in per cent.',
    ],
  },
}
