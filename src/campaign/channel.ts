import type { ConsentChannel } from '../identity/contact.ts'

export const ADAPTERS = ['outbox', 'smtp', 'http_sms'] as const
export type Adapter = (typeof ADAPTERS)[number]

/** A message on its way out. */
export interface Parcel {
  id: string
  /** The same for every attempt, and for no other message. */
  key: string
  channel: ConsentChannel
  /** An address or a number. */
  to: string
  headline: string | null
  body: string
  /** Where whoever got it asks for no more; null: it says another way. */
  optOutUrl: string | null
}

/** What became of an attempt. */
export type Sent =
  | { is: 'sent'; providerMessageId: string | null }
  /**
   * Not taken now; another attempt may be, not before a while that the channel asked for. `unanswered`: it will answer for
   * no other one now, either. `mayHave`: it may have the message all the same.
   */
  | { is: 'later'; error: string; afterMs?: number; unanswered?: boolean; mayHave?: boolean }
  /** It will never be taken. */
  | { is: 'refused'; error: string }
  /** It may have been taken or not. */
  | { is: 'unknown'; error: string }

/** How messages of a brand leave. */
export interface Channel {
  /**
   * Whether sending the same message again, when nobody knows what became of an attempt, can bring it twice. A channel
   * that goes by the key can take it any number of times.
   */
  readonly takesOnce: 'by_key' | 'never_again'
  send(parcel: Parcel, signal?: AbortSignal): Promise<Sent>
  close?(): Promise<void>
}
