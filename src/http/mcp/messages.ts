import { parseExactly } from '../../event/exact.ts'

/** As far as it is read here; a sender may have put anything in its place. */
interface Message {
  id?: unknown
  params?: { arguments?: unknown }
}

/** What one POST holds, as it was sent: the library leaves out an argument that is called `__proto__`. */
export interface Messages {
  /** All of it; integers beyond 2^53 without their last digits. */
  content: unknown
  count: number
  /** Of the call with an id, exactly where it is asked for; undefined when no other message tells it from this one. */
  argumentsOf(id: unknown, exact: boolean): unknown
}

/**
 * Throws a SyntaxError for what is not JSON. A body is parsed once, and once more for all exact calls in it: a megabyte
 * of long numbers takes 80 ms, which a batch must not take for each of its calls.
 */
export function messagesOf(body: Buffer): Messages {
  const content: unknown = JSON.parse(body.toString())
  const plain = listed(content)
  let exactly: readonly (Message | null)[] | undefined
  const exact = () => {
    exactly ??= listed(parseExactly(body.toString()))
    return exactly
  }
  return {
    content,
    count: plain.length,
    argumentsOf: (id, isExact) => {
      const [at, another] = plain.flatMap((message, index) => (message?.id === id ? [index] : []))
      if (at === undefined || another !== undefined) return undefined
      return (isExact ? exact() : plain)[at]?.params?.arguments
    },
  }
}

const listed = (content: unknown) => (Array.isArray(content) ? content : [content]) as (Message | null)[]
