import dns from 'node:dns/promises'
import { BlockList } from 'node:net'

/** Addresses of no public site, by the registries of IANA: of IPv6 all but 2000::/3, and some of that. */
const NOT_PUBLIC = {
  ipv4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.31.196.0/24',
    '192.52.193.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '192.175.48.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/3',
  ],
  ipv6: [
    '::/3',
    '4000::/2',
    '8000::/1',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
    '2620:4f:8000::/48',
    '3fff::/20',
  ],
} as const

const lists = { 4: listOf('ipv4'), 6: listOf('ipv6') }

function listOf(family: keyof typeof NOT_PUBLIC): (address: string) => boolean {
  const list = new BlockList()
  for (const subnet of NOT_PUBLIC[family]) {
    const [network = '', bits] = subnet.split('/')
    list.addSubnet(network, Number(bits), family)
  }
  return (address) => list.check(address, family)
}

/**
 * Whether a document may be fetched from a URL that anybody made up: of a public site at the usual port. Told before
 * anything is connected, since how long that takes tells what is there.
 */
export async function isPublicSite(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  if (port !== '') return false
  const found = await dns.lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => [])
  return found.length > 0 && !found.some(({ address, family }) => lists[family as 4 | 6](address))
}
