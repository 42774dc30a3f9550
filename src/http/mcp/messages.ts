import { isUtf8 } from 'node:buffer'
import { parseExactly } from '../../event/exact.ts'
import { sizeProblem } from '../json-size.ts'

/** Of a batch, which only the first of the 2025 versions has: its calls run side by side. */
const MOST_MESSAGES = 20

/** As far as it is read here; a sender may have put anything in its place. */
interface Message {
  id?: unknown
  method?: unknown
  params?: { name?: unknown; arguments?: unknown } | null
}

/** What one POST holds, as it was sent: the library leaves out an argument that is called `__proto__`. */
export interface Messages {
  /** All of it; integers beyond 2^53 without their last digits. */
  content: unknown
  /** The tool that each message calls; undefined for those that call none, as one without an id. */
  called: readonly unknown[]
  /** Of the call with an id, exactly where it is asked for; undefined when no other message tells it from this one. */
  argumentsOf(id: unknown, exact: boolean): unknown
}

/** An error of JSON-RPC. */
export interface Refused {
  code: number
  message: string
}

/**
 * A body is parsed once, and once more for all exact calls in it: a megabyte of long numbers takes 80 ms, which a batch
 * must not take for each of its calls.
 */
export function messagesOf(body: Buffer): Messages | Refused {
  // The library would replace what is not valid.
  if (!isUtf8(body)) return { code: -32700, message: 'The body is not valid UTF-8' }
  // A megabyte of small values would hold up everybody. How deep arguments are says their tool.
  const tooMuch = sizeProblem(body, { maxDepth: Number.POSITIVE_INFINITY })
  if (tooMuch !== null) return { code: -32602, message: tooMuch }
  let content: unknown
  try {
    content = JSON.parse(body.toString())
  } catch {
    return { code: -32700, message: 'The body is not valid JSON' }
  }
  const plain = listed(content)
  if (plain.length > MOST_MESSAGES)
    return { code: -32602, message: `A batch must have at most ${MOST_MESSAGES} messages` }
  let exactly: readonly (Message | null)[] | undefined
  const exact = () => {
    exactly ??= listed(parseExactly(body.toString()))
    return exactly
  }
  return {
    content,
    called: plain.map((message) => (isCall(message) ? message.params?.name : undefined)),
    argumentsOf: (id, isExact) => {
      const [at, another] = plain.flatMap((message, index) => (message?.id === id ? [index] : []))
      if (at === undefined || another !== undefined) return undefined
      return (isExact ? exact() : plain)[at]?.params?.arguments
    },
  }
}

const listed = (content: unknown) => (Array.isArray(content) ? content : [content]) as (Message | null)[]

const isCall = (message: Message | null): message is Message =>
  message?.method === 'tools/call' && message.id !== undefined
