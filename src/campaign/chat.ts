import { readUpTo } from '../answer.ts'
import { fail } from '../errors.ts'
import { postJson } from '../post.ts'

/** An endpoint that speaks as OpenAI's chat completions do. */
export interface ChatEndpoint {
  /** Such as https://api.example.com/v1. */
  url: string
  /** Null: it takes calls of anybody. */
  key: string | null
  model: string
}

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant'
  content: string
}

export interface ChatOptions {
  /** Of the answer. */
  mostTokens: number
  timeoutMs: number
  signal?: AbortSignal
}

export interface ChatAnswer {
  text: string
  /** Of the question and the answer. */
  tokens: number
}

const ANSWER_BYTES = 1_048_576
/** When the endpoint does not say: about so many characters are one. */
const CHARACTERS_PER_TOKEN = 4

/** One answer. Throws `upstream_unavailable` when there is none in time, and `upstream_error` for one that is none. */
export async function chat(
  { url, key, model }: ChatEndpoint,
  messages: readonly ChatMessage[],
  { mostTokens, timeoutMs, signal }: ChatOptions,
): Promise<ChatAnswer> {
  try {
    const response = await postJson(`${url.replace(/\/$/, '')}/chat/completions`, {
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
      body: { model, messages, max_tokens: mostTokens },
      timeoutMs,
      signal,
    })
    const { bytes, isCut } = await readUpTo(response, ANSWER_BYTES)
    if (isCut) throw fail('upstream_error', 'The answer of the agent’s endpoint is too long.')
    if (!response.ok) throw fail('upstream_error', `The endpoint of the agent answered ${response.status}.`)
    return answerOf(bytes.toString(), messages)
  } catch (cause) {
    if (signal?.aborted || (cause instanceof Error && cause.name === 'Failure')) throw cause
    throw fail('upstream_unavailable', 'The endpoint of the agent gave no answer in time.', { cause })
  }
}

function answerOf(body: string, asked: readonly ChatMessage[]): ChatAnswer {
  let read: { choices?: { message?: { content?: unknown } }[]; usage?: { total_tokens?: unknown } } | null
  try {
    read = JSON.parse(body)
  } catch (cause) {
    throw fail('upstream_error', 'The answer of the agent’s endpoint is no JSON.', { cause })
  }
  const text = read?.choices?.[0]?.message?.content
  if (typeof text !== 'string')
    throw fail('upstream_error', 'The answer of the agent’s endpoint has no text.')
  const said = read?.usage?.total_tokens
  const length = asked.reduce((sum, { content }) => sum + content.length, text.length)
  const tokens = typeof said === 'number' && said >= 0 ? said : length / CHARACTERS_PER_TOKEN
  return { text, tokens: Math.ceil(tokens) }
}
