import { isIPv6 } from 'node:net'

/** Of an address, what stands for one client: a network gives each of its customers a range of 64 bits of IPv6. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const groups = groupsOf(address)
  const [high = 0, low = 0] = groups.slice(6)
  if (groups.slice(0, 6).join() === IPV4_WITHIN) return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')
}

/** Of an address of IPv6 the range of 48 bits, the largest that a provider gives one customer. */
export function siteOf(address: string): string | undefined {
  const groups = networkOf(address).split(':')
  return groups.length === 4 ? groups.slice(0, 3).join(':') : undefined
}

/** The first six groups of IPv4 as a server that listens on IPv6 sees it, which is told in whatever spelling. */
const IPV4_WITHIN = [0, 0, 0, 0, 0, 0xffff].join()

/** All eight of an address of IPv6. */
function groupsOf(address: string): number[] {
  const hex = (high: string, low: string) => ((Number(high) << 8) | Number(low)).toString(16)
  const plain = address
    .replace(/%.*/, '')
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => `${hex(a, b)}:${hex(c, d)}`)
  const [first = [], last = []] = plain.split('::').map((part) => part.split(':').filter(Boolean))
  const between = Array<string>(8 - first.length - last.length).fill('0')
  return [...first, ...between, ...last].map((group) => Number.parseInt(group, 16))
}
