import { main } from './cli/main.ts'

// Whoever reads our output, such as head, has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  process.stderr.write(`recoup: the output cannot be written: ${error.message}\n`)
  process.exit(1)
})

const code = await main(process.argv.slice(2), {
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})

// What a start left open that failed half-way would keep alive a server or worker that does nothing.
if (code !== 0) process.exit(code)
