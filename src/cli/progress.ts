import cliProgress from 'cli-progress'

export interface Progress {
  /** `done` of `total`; a total of 0 is not known yet. */
  update(done: number, total: number): void
  end(): void
}

/** A bar on a terminal, a line per 10 % elsewhere; both on stderr, so that stdout stays the result. */
export function progress(title: string, stream: NodeJS.WriteStream = process.stderr): Progress {
  return stream.isTTY ? bar(title, stream) : lines(title, stream)
}

function bar(title: string, stream: NodeJS.WriteStream): Progress {
  const format = `${title} [{bar}] {percentage}% | {value}/{total} | {eta_formatted}`
  const shown = new cliProgress.SingleBar({ format, stream }, cliProgress.Presets.shades_classic)
  let started = false
  return {
    update(done, total) {
      if (!started) shown.start(total, done)
      started = true
      shown.setTotal(total)
      shown.update(done)
    },
    end() {
      if (started) shown.stop()
    },
  }
}

/** Work that ends sooner says nothing where nobody watches a bar. */
const QUIET_MS = 2_000

function lines(title: string, stream: NodeJS.WriteStream): Progress {
  const started = Date.now()
  let said = 0
  return {
    update(done, total) {
      const tenth = total ? Math.floor((done / total) * 10) : 0
      if (tenth <= said || Date.now() - started < QUIET_MS) return
      said = tenth
      stream.write(`${title}: ${tenth * 10} % (${done} of ${total})\n`)
    },
    end() {},
  }
}
