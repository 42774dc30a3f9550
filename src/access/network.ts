import { isIPv6 } from 'node:net'

/** Of an address, what stands for one client: a network gives each of its customers a range of 64 bits of IPv6. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped?.[1]) return mapped[1]
  const [head = '', tail = ''] = address.split('::')
  const groups = [head, tail].map((part) => part.split(':').filter(Boolean))
  const [first = [], last = []] = groups
  const whole = address.includes('::')
    ? [...first, ...Array(Math.max(0, 8 - first.length - last.length)).fill('0'), ...last]
    : first
  return whole
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
