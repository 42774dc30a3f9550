import { randomBytes, randomInt, scrypt, timingSafeEqual } from 'node:crypto'
import { fail } from '../../errors.ts'

/** 128 MB and about a third of a second each. Node 22 has no argon2. */
const COST = { logN: 17, r: 8, p: 1 }
const SALT = 16
const KEY = 32
/** At once: more would only make each slower, and hold more memory. */
const MOST_RUNNING = 2
const MOST_WAITING = 64

const LEAST = 12
const MOST = 256
/** Without look-alikes. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'

/** What is wrong with a new password, in words; null when nothing is. */
export function passwordProblem(password: string): string | null {
  const { length } = [...password]
  return length < LEAST || length > MOST ? `The password must have ${LEAST} to ${MOST} characters` : null
}

/** 100 random bits in four groups of five letters. */
export function makePassword(): string {
  const letter = () => LETTERS[randomInt(LETTERS.length)]
  return Array.from({ length: 4 }, () => Array.from({ length: 5 }, letter).join('')).join('-')
}

/** What is stored of a password, in PHC form. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT)
  const key = await derived(password, salt, COST)
  return phc(salt, key)
}

/** Against what is stored; without that it takes as long and is false. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const found = PHC.exec(stored ?? NOBODY)
  if (!found) throw new Error('a stored password has an unknown form')
  const [logN, r, p] = found.slice(1, 4).map(Number) as [number, number, number]
  const [salt, key] = found.slice(4).map((part) => Buffer.from(part, 'base64')) as [Buffer, Buffer]
  const same = timingSafeEqual(await derived(password, salt, { logN, r, p }), key)
  return same && stored !== undefined
}

const PHC = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/

const phc = (salt: Buffer, key: Buffer) =>
  `$scrypt$ln=${COST.logN},r=${COST.r},p=${COST.p}$${unpadded(salt)}$${unpadded(key)}`

const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')

/** Stands in for the password of an account that does not exist. */
const NOBODY = phc(Buffer.alloc(SALT), Buffer.alloc(KEY))

let running = 0
const waiting: (() => void)[] = []

async function derived(password: string, salt: Buffer, { logN, r, p }: typeof COST): Promise<Buffer> {
  if (running >= MOST_RUNNING) {
    if (waiting.length >= MOST_WAITING)
      throw fail('unavailable', 'Too many people are signing in. Try again in a few seconds')
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running++
  try {
    return await new Promise((resolve, reject) => {
      const cost = { N: 2 ** logN, r, p, maxmem: 256 * 2 ** logN * r }
      // Composed, since keyboards differ in how they send an accent.
      scrypt(password.normalize('NFKC'), salt, KEY, cost, (error, key) =>
        error ? reject(error) : resolve(key),
      )
    })
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}
