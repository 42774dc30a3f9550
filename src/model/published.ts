import type { Model } from './graph.ts'

/** Marts that operations read where refreshes publish them: without one reads would fail, and no refresh say why. */
const READ = [
  ...['churn', 'cohorts', 'customer_products', 'customers', 'ltv_buckets', 'orders', 'other_currencies'],
  ...['product_performance', 'profile_properties', 'rfm', 'rfm_tiers', 'subscriptions'],
]

/** Throws an error that names the file of one that is not there, or that refreshes do not publish. */
export function checkPublished(models: readonly Model[]): void {
  for (const name of READ) {
    const model = models.find((one) => one.name === name)
    if (!model) throw new Error(`models/${name}.sql: is missing, and operations read it`)
    if (!model.stored)
      throw new Error(
        `${model.file}: operations read what refreshes publish of it, which of a view is nothing`,
      )
    if (name === 'customers' && !model.seen)
      throw new Error(`${model.file}: header keys "by" and "seen" are missing; segments go on by them`)
  }
}
