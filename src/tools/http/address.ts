import { isIP } from 'node:net';
import * as ipaddr from 'ipaddr.js';

/** The whole public IPv6 Internet. Other blocks carry IPv4 addresses or are not assigned. */
const GLOBAL_IPV6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * Whether an address, as a resolver or a parsed URL writes it, belongs to the public Internet. Not public are private,
 * loopback, link-local, multicast, shared (CGNAT), documentation, benchmark and reserved addresses, and each form of
 * IPv6 that carries an IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}

/** The IP address in a URL's host. Undefined if the host is a name. */
export function addressIn({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return isIP(bare) === 0 ? undefined : bare;
}

/** True when a URL's host is a private address or a name of this machine. Does not ask a resolver. */
export function isPrivateHost(url: URL): boolean {
  const address = addressIn(url);
  if (address !== undefined) return !isPublicAddress(address);
  return /(^|\.)localhost$/.test(url.hostname);
}
