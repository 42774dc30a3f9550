import { createRequire, registerHooks } from 'node:module'
import type postgres from 'postgres'

/** In one file of the driver, the text that is there and the text in its place; each is there once. */
interface Mend {
  file: string
  before: string
  after: string
}

/** Postgres ends what its client has ended within milliseconds. */
const LEAVE_MS = 5_000

/**
 * What postgres.js 3.4.9 does when connections end under it or a copy is read slowly or fails, and must not; and bytes,
 * which it sends as text. The faults were seen in tests; upstream knows the first (porsager/postgres issues 1066, 1154,
 * 1208) and that of the copy that fails (1173).
 */
const MENDS: readonly Mend[] = [
  // A write after the end threw from a timer, which ended the process. The statement must fail instead.
  {
    file: 'connection.js',
    before: 'const x = socket.write(chunk, fn)',
    after: `if (socket === null) {
      chunk = nextWriteTimer = null
      error(Errors.connection('CONNECTION_CLOSED', options, socket))
      return false
    }
    const x = socket.write(chunk, fn)`,
  },
  // What was not sent yet went to the next session, ahead of its start; and the timer that would have sent that never
  // ran, so the connection was lost to its pool for good. An answer of the old session failed a statement of the new.
  // And a peer that closed each connection before its session began was connected to without a pause, for one statement
  // that never failed. Of several hosts the next one is still tried.
  {
    file: 'connection.js',
    before: 'socket = null\n\n    if (initial)\n      return reconnect()\n\n    !hadError && (query',
    after: `socket = null
    chunk = nextWriteTimer = null
    ;(query || initial`,
  },
  {
    file: 'connection.js',
    before: 'closedTime = performance.now()\n    hadError',
    after: `query = results = errorResponse = null
    result = new Result()
    if (initial)
      return reconnect()

    closedTime = performance.now()
    hadError`,
  },
  // Nobody waits for this statement of the driver's own: its failure was a rejection that ended the process.
  {
    file: 'connection.js',
    before: 'return fetchArrayTypes()',
    after: 'return fetchArrayTypes().catch(() => {})',
  },
  // A statement whose arguments cannot be sent, behind others: the one before it failed, it stood for one that had been
  // sent for ever, and each answer from then on was the one before's.
  {
    file: 'connection.js',
    before: 'sent.length === 0 && write(Sync)\n      errored(error)\n      return true',
    after: `if (query !== q) {
        sent.remove(q)
        queryError(q, error)
        return true
      }
      write(Sync)
      errored(error)
      return true`,
  },
  // The last of a copy came while its reader was full: the socket stayed paused, and so did every later statement.
  {
    file: 'connection.js',
    before: 'stream && stream.push(null)\n    stream = null',
    after: 'stream && stream.push(null)\n    stream = null\n    socket && socket.resume()',
  },
  // So it did after a copy that nobody read to its end: what still comes of it goes nowhere.
  {
    file: 'connection.js',
    before: 'stream && (stream.push(x.subarray(5)) || socket.pause())',
    after: 'stream && (stream.destroyed || stream.push(x.subarray(5)) || socket.pause())',
  },
  {
    file: 'connection.js',
    before: `stream = new Stream.Readable({
      read() { socket.resume() }
    })`,
    after: `stream = new Stream.Readable({
      read() { socket && socket.resume() },
      destroy(error, done) {
        socket && socket.resume()
        done(error)
      }
    })`,
  },
  // Who wrote a copy that failed after its last byte was never told.
  {
    file: 'connection.js',
    before: 'stream && (stream.destroy(err), stream = null)\n',
    after: `stream && (stream.destroy(err), stream = null)
    final && (final(err), final = null)
`,
  },
  // bytea left as text of its hexadecimal digits: twice the bytes. 14 % more events of 1.5 KB are stored without that.
  {
    file: 'connection.js',
    before: 'b().B().str(portal + b.N).str(statement + b.N).i16(0).i16(parameters.length)',
    after: `const binary = parameters.map((x, i) => types[i] === 17 && x instanceof Uint8Array)
    b().B().str(portal + b.N).str(statement + b.N).i16(parameters.length)
    binary.forEach((is) => b.i16(is ? 1 : 0))
    b.i16(parameters.length)
    // Only of a named statement it is known that nothing stands before this message in the same write.
    const last = parameters.length - 1
    const long = statement && binary[last] && parameters[last].length >= 65536 ? parameters[last] : null`,
  },
  {
    file: 'connection.js',
    before: 'type = types[i]\n',
    after: `if (binary[i])
        return long && i === last ? b.i32(x.length) : b.i32(x.length).raw(x)

      type = types[i]
`,
  },
  // A long last one is written from where it is. It was copied four times, in memory that the collector looks after: for
  // each 8 batches of 390 KB it collected all of the heap.
  {
    file: 'connection.js',
    before: `b.inc(4).str(x).i32(b.i - prev - 4, prev)
    })

    b.i16(0)

    return b.end()`,
    after: `b.inc(4).str(x).i32(b.i - prev - 4, prev)
    })

    if (long) {
      const head = b.end()
      head.writeUInt32BE(head.length - 1 + long.length + 2, 1)
      const to = socket
      to && (to.cork(), process.nextTick(() => to.uncork()))
      write(head)
      chunk && nextWrite()
      write(long)
      return Buffer.alloc(2)
    }

    b.i16(0)

    return b.end()`,
  },
  {
    file: 'connection.js',
    before: 'chunk = chunk ? Buffer.concat([chunk, x]) : Buffer.from(x)',
    after: 'chunk = chunk ? Buffer.concat([chunk, x]) : x',
  },
  // In one write with the end of its statement, which is short and went with the next turn of the event loop: 1 ms later,
  // 10 ms in one of a hundred.
  {
    file: 'connection.js',
    before: 'if (fn || chunk.length >= 1024)',
    after: 'if (fn || chunk.length >= 1024 || (socket && socket.writableLength > 0))',
  },
  // The end of a long statement was kept until all before it was acknowledged, which a receiver that waits for more does
  // 40 ms late (Nagle's algorithm, delayed acknowledgement): half of the batches of 130 KB waited for that alone.
  {
    file: 'connection.js',
    before: "socket.on('data', data)\n      keep_alive",
    after: "socket.on('data', data)\n      socket.setNoDelay(true)\n      keep_alive",
  },
  // Who waited for a connection of its own was handed to a connection that gave itself to the next one in line.
  {
    file: 'index.js',
    before: 'queries.length && connect(c, queries.shift())\n  }',
    after: `if (queries.length === 0) return
    const query = queries.shift()
    query.reserve && queries.push(query)
    connect(c, query)
  }`,
  },
  // And one whose wait had failed was given a connection that nobody gave back.
  {
    file: 'index.js',
    before: 'const query = { reserve: resolve, reject }',
    after: 'const query = { reserve: resolve, reject: (error) => (queries.remove(query), reject(error)) }',
  },
  // One that was to end while it was reserved, as after its longest life, was given to the next one first: the statement
  // after that failed. It ends once it has answered all; an ending pool gives it to who waits, as it makes no other.
  {
    file: 'connection.js',
    before: '    cancel,\n    end,\n',
    after: `    cancel,
    end,
    retire: () => ending && (query || sent.length || terminate(), true),
`,
  },
  // One that ended by itself, as when nobody used it, was lost to its pool until the other side had ended, too: where that was
  // gone for as long as TCP takes, a quarter of an hour.
  {
    file: 'connection.js',
    before: "socket.readyState === 'open' && socket.end(b().X().end())",
    after: `const to = socket
      to.setTimeout(${LEAVE_MS}, () => to.destroy())
      to.readyState === 'open' && to.end(b().X().end())`,
  },
  // Connections whose other side is gone are ended from outside, see silence.ts: here is what it goes by.
  {
    file: 'index.js',
    before: 'onparameter     : o.onparameter,',
    after: 'onparameter     : o.onparameter,\n    watched         : o.watched,',
  },
  {
    file: 'connection.js',
    before: '    count: 0,\n',
    after: `    heard: 0,
    waits: () => !!(socket && query) && !query.cursorFn && !socket.isPaused() && !(stream && stream.writable),
    unsent: () => socket?._handle?.writeQueueSize ?? 0,
    session: () => ({ pid: backend.pid, host: socket?.host, port: socket?.port }),
    drop: () => socket && socket.destroy(),
    dropIdle: () => connection.queue === queues.open && (end(), socket && socket.destroy()),
    count: 0,
`,
  },
  {
    file: 'connection.js',
    before: '(query = q, query.active = true)',
    after: '(query = q, query.active = true, connection.heard = performance.now())',
  },
  {
    file: 'connection.js',
    before: 'function data(x) {\n',
    after: 'function data(x) {\n    connection.heard = performance.now()\n',
  },
  {
    file: 'connection.js',
    before: '      lifeTimer.start()\n',
    after: '      lifeTimer.start()\n      options.watched && options.watched.add(connection)\n',
  },
  {
    file: 'connection.js',
    before: '    lifeTimer.cancel()\n',
    after: '    lifeTimer.cancel()\n    options.watched && options.watched.delete(connection)\n',
  },
  // A connection that ended and was made again took the rest of a transaction: outside of any transaction.
  {
    file: 'index.js',
    before: 'c.reserved.release = true\n',
    after: `c.reserved.release = true
    const mine = c.reserved
    c.onclose = (error) => {
      while (queue.length) queue.shift().reject(error)
    }
`,
  },
  {
    file: 'index.js',
    before: 'c.reserved = null\n      onopen(c)\n    }\n\n    return sql',
    after: `if (c.reserved !== mine) return
      c.reserved = null
      if ((ending && queries.length) || !c.retire()) onopen(c)
    }

    return sql`,
  },
  {
    file: 'index.js',
    before: 'function handler(q) {\n      c.queue === full\n        ? queue',
    after: `function handler(q) {
      if (c.reserved !== mine) return q.reject(Errors.connection('CONNECTION_CLOSED', options))
      c.queue === full
        ? queue`,
  },
  {
    file: 'index.js',
    before: 'q.catch(e => uncaughtError || (uncaughtError = e))\n',
    after: `q.catch(e => uncaughtError || (uncaughtError = e))
        if (c.reserved !== mine) return q.reject(Errors.connection('CONNECTION_CLOSED', options))
`,
  },
  {
    file: 'index.js',
    before:
      'c.reserved = () => queries.length\n        ? c.execute(queries.shift())\n        : move(c, reserved)\n',
    after: `c.reserved = mine = () => queries.length
        ? c.execute(queries.shift())
        : move(c, reserved)
`,
  },
  {
    file: 'index.js',
    before: ', prepare = null\n\n    try {',
    after: ', prepare = null\n      , mine\n\n    try {',
  },
]

/** A connection that the driver put into the set that its option `watched` is. */
export interface Watched {
  /** By performance.now(): when its last byte came, or when it was asked something after that. */
  readonly heard: number
  /** A statement waits for its answer, and it is not for this side to go on. */
  waits(): boolean
  /** Bytes that the system has not taken yet. */
  unsent(): number
  session(): { pid: number; host?: string; port?: number }
  /** Ends it; what was asked of it fails with CONNECTION_CLOSED. */
  drop(): void
  /** Ends it when nobody uses it. */
  dropIdle(): void
}

/** The driver with its mends. Fails when the installed version is another one than they were made for. */
function mended(): typeof postgres {
  const folder = /\/postgres\/cjs\/src\/(connection|index)\.js$/
  const used = new Set<Mend>()
  const hooks = registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const file = folder.exec(url)?.[1]
      if (!file) return loaded
      let source = String(loaded.source)
      for (const mend of MENDS.filter((one) => one.file === `${file}.js`)) {
        const parts = source.split(mend.before)
        if (parts.length !== 2)
          throw new Error(`postgres.js is not the version that was mended: ${mend.before}`)
        source = parts.join(mend.after)
        used.add(mend)
      }
      return { ...loaded, source }
    },
  })
  try {
    const driver = createRequire(import.meta.url)('postgres') as typeof postgres
    if (used.size !== MENDS.length) throw new Error('postgres.js was loaded without its mends')
    return driver
  } finally {
    hooks.deregister()
  }
}

export default mended()
