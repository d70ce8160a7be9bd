/** Which names the desk answers to. */
export interface Hosts {
  /** Whether this is the value of a `Host` header of ours. */
  knows(host: string): boolean;
}

/** Where the desk listens, and the names that it is reached by beside that. */
export interface Place {
  /** As it was asked to listen; `127.0.0.1` unless set. */
  host: string;
  port: number;
  /** Names of a reverse proxy, each with its port unless that is the scheme's own. */
  allowHosts: readonly string[];
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
/** Listening on these means every address of the machine, which is no name. */
const EVERYWHERE = ['0.0.0.0', '::', '[::]'];

/**
 * The names of a place. A page of somebody else's that had its own name point to this machine comes with that name,
 * and is refused.
 */
export function createHosts({ host, port, allowHosts }: Place): Hosts {
  const own = EVERYWHERE.includes(host) ? [] : [inUrl(host)];
  const names = new Set([
    ...[...LOOPBACK, ...own].map((name) => (port === 80 ? name : `${name}:${port}`)),
    ...allowHosts.flatMap((name) => [name, ...(/:\d+$/.test(name) ? [] : [`${name}:${port}`])]),
  ]);
  const known = new Set([...names].map((name) => name.toLowerCase()));
  return { knows: (name) => known.has(name.toLowerCase()) };
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** An address as it stands in a URL: IPv6 in brackets. */
export function inUrl(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
