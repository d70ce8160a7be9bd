/** The address of this machine on which our listeners are opened, unless a person names another. */
export const LOOPBACK_HOST = '127.0.0.1';

/** Whether only this machine can reach a host, as `URL` names it or as it is given for listening. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Whether nobody can listen in between: https, or plain http on this machine. */
export function isSecureUrl(url: URL): boolean {
  return url.protocol === 'https:' || isPlainLocal(url);
}

/** Whether a URL is plain http on this machine. */
export function isPlainLocal({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && isLoopback(hostname);
}

/** Options for a client's connection to Temporal: what is on this machine is reached without the proxies of gRPC. */
export function proxyArgs(address: string) {
  const host = address.toLowerCase().replace(/\.?(:\d+)?$/, '');
  const isHere = isLoopback(host) || host === '0.0.0.0' || host === '[::]';
  return isHere ? { 'grpc.enable_http_proxy': 0 } : {};
}
