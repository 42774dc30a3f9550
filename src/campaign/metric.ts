/** Columns of the model stg_campaign_results that are summed. */
type Measure =
  | 'conversations'
  | 'replied'
  | 'opted_out'
  | 'recovered'
  | 'messages'
  | 'tracked'
  | 'delivered'
  | 'clicked'
  | 'orders'
  | 'sales'

interface Metric {
  title: string
  description: string
  /** count: a whole number. money: in the brand's currency. rate: in per cent. */
  kind: 'count' | 'money' | 'rate'
  sum: Measure
  /** Divided by this one; by nothing it is 0. */
  per?: Measure
}

/** What the performance of campaigns is measured by. */
export const METRICS = {
  recovered_sales: {
    title: 'Recovered sales',
    description:
      'What orders in the brand’s currency that conversations recovered came to, less refunds, on the day of the order.',
    kind: 'money',
    sum: 'sales',
  },
  recovered_orders: {
    title: 'Recovered orders',
    description: 'Orders in the brand’s currency that conversations recovered, on the day of the order.',
    kind: 'count',
    sum: 'orders',
  },
  recovery_rate: {
    title: 'Recovery rate',
    description:
      'Of the conversations begun, in per cent, those with a recovered order by now, in any currency.',
    kind: 'rate',
    sum: 'recovered',
    per: 'conversations',
  },
  conversations_started: {
    title: 'Conversations started',
    description: 'Conversations begun by campaigns and contacts in which a message left or came.',
    kind: 'count',
    sum: 'conversations',
  },
  messages_sent: {
    title: 'Messages sent',
    description: 'Messages to contacts that a channel took.',
    kind: 'count',
    sum: 'messages',
  },
  delivery_rate: {
    title: 'Delivery rate',
    description:
      'Of the text messages sent, in per cent, those that arrived, as their channel says; none tells it of emails.',
    kind: 'rate',
    sum: 'delivered',
    per: 'tracked',
  },
  reply_rate: {
    title: 'Reply rate',
    description: 'Of the conversations begun, in per cent, those in which the contact wrote.',
    kind: 'rate',
    sum: 'replied',
    per: 'conversations',
  },
  click_rate: {
    title: 'Click rate',
    description: 'Of the messages sent, in per cent, those with a link that was clicked.',
    kind: 'rate',
    sum: 'clicked',
    per: 'messages',
  },
  opt_out_rate: {
    title: 'Opt-out rate',
    description: 'Of the conversations begun, in per cent, those in which the contact opted out.',
    kind: 'rate',
    sum: 'opted_out',
    per: 'conversations',
  },
  average_recovered_order_value: {
    title: 'Average recovered order value',
    description: 'Recovered sales by recovered order.',
    kind: 'money',
    sum: 'sales',
    per: 'orders',
  },
  revenue_per_conversation: {
    title: 'Revenue per conversation',
    description: 'Recovered sales by conversation begun.',
    kind: 'money',
    sum: 'sales',
    per: 'conversations',
  },
} as const satisfies Record<string, Metric>

export type MetricName = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as MetricName[]

export const isMetric = (name: string): name is MetricName => Object.hasOwn(METRICS, name)

/** The decimal string of a metric over rows of stg_campaign_results, as DuckDB spells it. Halves go away from zero. */
export function metricSql(name: MetricName): string {
  const { kind, sum, per }: Metric = METRICS[name]
  const total = `coalesce(sum(${sum}), 0)`
  if (!per) return `${total}::varchar`
  const factor = kind === 'rate' ? 10_000 : 100
  return `coalesce(round(${total} * ${factor} / nullif(sum(${per}), 0)) / 100, 0)::decimal(38, 2)::varchar`
}

/** What a metric is when nothing happened. */
export const nothing = (name: MetricName): string => (METRICS[name].kind === 'count' ? '0' : '0.00')
