import type { EventEmitter } from 'node:events'
import { constants } from 'node:os'
import { isatty } from 'node:tty'

/** What may end a command before its work is done. */
export interface Stop {
  /** Aborts at the first signal, or when the supervisor died. */
  readonly signal: AbortSignal
  /** Resolves with what asked. */
  readonly asked: Promise<string>
  /** What SIGHUP does from now on, in place of the end; that of a closed terminal still ends the command. */
  atHangup(work: () => void): void
  /** The exit code of a command that was cut short. */
  code(): number
}

export interface ProcessStop extends Stop {
  /** Ends the process; with the code of the signal that asked, by that signal, whatever still runs. */
  exit(code: number): never
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Signal = (typeof SIGNALS)[number]

/** Some, such as timeout and npm, send a signal to the process and to its group: so soon it is the same one. */
const SAME_MS = 500

/** Nothing asks. */
export const NO_STOP: Stop = {
  signal: new AbortController().signal,
  asked: new Promise(() => {}),
  atHangup: () => {},
  code: () => 1,
}

/** Listens for what ends this process. The same signal a second time ends it at once. */
export function listenForStop(): ProcessStop {
  const onTerminal = isatty(0)
  const aborting = new AbortController()
  const { promise: asked, resolve } = Promise.withResolvers<string>()
  let by: Signal | undefined
  let hangup: (() => void) | undefined
  const ask = (why: string) => {
    resolve(why)
    aborting.abort(new Error(why))
  }
  for (const signal of SIGNALS) {
    let first: number | undefined
    process.on(signal, () => {
      // One that is gone is none any more.
      const isClosed = onTerminal && !isatty(0)
      if (signal === 'SIGHUP' && hangup && !isClosed) return hangup()
      first ??= performance.now()
      if (performance.now() - first > SAME_MS) endBy(signal)
      by ??= signal
      ask(signal)
    })
  }
  process.once('disconnect', () => ask('the supervisor is gone'))
  process.channel?.unref()
  const code = () => (by ? codeOf(by) : 1)
  return {
    signal: aborting.signal,
    asked,
    atHangup: (work) => {
      hangup = work
    },
    code,
    exit: (given) => (by && given === code() ? endBy(by) : process.exit(given)),
  }
}

/** On a terminal that a reader of lines has to itself, Ctrl-C is a key. */
export const heedInterrupt = (reader: EventEmitter) =>
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))

const codeOf = (signal: Signal) => 128 + constants.signals[signal]

/** As where nobody listens: an exit would wait for the statements of DuckDB that run. */
function endBy(signal: Signal): never {
  if (process.stdin.isTTY) process.stdin.setRawMode(false)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // The first process of a container gets no signal that it does not listen to.
  process.exit(codeOf(signal))
}
