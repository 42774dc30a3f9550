/** What a running job may use of the scheduler. */
export interface Control {
  /** Id of the job; when it is run again it is the same. */
  job: string
  /** Id of the worker that runs it; after a restart it is another one. */
  worker: string
  /** Aborted when the job's time is over, or with `Stopped` as its reason when the worker stops. */
  signal: AbortSignal
  /** Aborted at once when the worker stops: what is under way has until `signal` to end, and nothing more is begun. */
  stopping: AbortSignal
  /** Queues another job, `afterSeconds` from now; what its queue allows no more of is dropped. */
  send(queue: string, data?: object, afterSeconds?: number): Promise<void>
}

/** Why a job is cut off that nothing is wrong with. */
export class Stopped extends Error {
  constructor() {
    super('the worker stops')
    this.name = 'Stopped'
  }
}

/**
 * A signal that aborts with any of these, until `end`. What AbortSignal.any makes of a signal that lives on is never quite
 * let go of: 170 bytes a job, of which a worker runs about 100,000 a day.
 */
export function following(signals: readonly AbortSignal[]): { signal: AbortSignal; end(): void } {
  const own = new AbortController()
  const abort = ({ target }: Event) => own.abort((target as AbortSignal).reason)
  for (const each of signals) {
    if (each.aborted) own.abort(each.reason)
    else each.addEventListener('abort', abort)
  }
  const end = () => {
    for (const each of signals) each.removeEventListener('abort', abort)
  }
  return { signal: own.signal, end }
}

/** One queue: a file of jobs/, named like it. Every job can run twice, or be killed and run again, without harm. */
export interface Job<Services, Data extends object = object> {
  queue: string
  /** Five-field cron at which a job is queued; else others send it. */
  every?: string
  timeoutSeconds: number
  /**
   * one: at most one waiting and one running; many: any number, `workers` of them at a time; each: the same, but at most one
   * waiting of the same data.
   */
  policy: 'one' | 'many' | 'each'
  workers?: number
  /** It writes to the lake: it is not run while the folder is not known to be this service's. */
  writesLake?: true
  /** It goes by what ticks bring, as who bought: where they cannot, it waits. */
  followsLake?: true
  run(services: Services, data: Data, control: Control): Promise<void>
}
