import { main } from './cli/main.ts'
import { listenForStop } from './cli/stop.ts'

// A command ends in good order, a service goes on, whether or not anybody reads what it says.
process.stdout.on('error', () => {})

const stop = listenForStop()
const code = await main(process.argv.slice(2), {
  env: process.env,
  out: (text) =>
    process.stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
      // Whoever reads our output, such as head, has seen enough.
      if (!error || error.code === 'EPIPE') return
      process.stderr.write(`recoup: the output cannot be written: ${error.message}\n`)
      process.exitCode = 1
    }),
  err: (text) => process.stderr.write(text),
  stop,
})

// What a start left open that failed half-way would keep alive a server or worker that does nothing.
if (code !== 0) stop.exit(code)
