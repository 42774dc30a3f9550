import { parentPort, workerData } from 'node:worker_threads'
import { hashInChunks } from './hash.ts'

parentPort?.postMessage(await hashInChunks(workerData))
