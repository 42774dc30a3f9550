import type { Statements } from '../../op.ts'
import { sliceBySlice } from '../../store/slices.ts'

/** Much longer than the platform repeats a webhook: two days at most. */
const DELIVERY_DAYS = 30

/** Forgets webhooks that the platform does not repeat any more, also those that could not be read. */
export const forgetStoreDeliveries = (pipeline: Statements): Promise<number> =>
  sliceBySlice((most) => pipeline.run('store_deliveries_forget', [DELIVERY_DAYS, most]))

/** Much longer than what a store says of a version is news: a month. */
const NEWS_DAYS = 60

/** Forgets whose old carts were. */
export const forgetCarts = (pipeline: Statements): Promise<number> =>
  sliceBySlice((most) => pipeline.run('store_carts_forget', [NEWS_DAYS, most]))

/** Forgets which old versions of the store's records were told. */
export const forgetVersions = (pipeline: Statements): Promise<number> =>
  sliceBySlice((most) => pipeline.run('store_events_forget', [NEWS_DAYS, most]))
