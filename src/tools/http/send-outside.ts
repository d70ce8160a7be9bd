import { outgoingFetch, proxyFault, proxyFor } from '../../system/proxies';
import { ToolError, TransportError } from '../errors';
import { isPrivateHost } from './address';
import { type HttpRequest, ONLY_PUBLIC } from './request';
import { type HttpAnswer, type Network, send, overLimit } from './send';
import { readAtMost } from '../../system/read-at-most';

/**
 * As `send`, but through the proxy that the environment names for the host, if there is one. Then the proxy looks the
 * name up, so only an address in the URL itself is checked here. `http_request` never comes here.
 */
export async function sendOutside(request: HttpRequest, network: Network): Promise<HttpAnswer> {
  const { url, method, headers, body } = request;
  if (proxyFor(url) === undefined) return send(request, network);
  if (isPrivateHost(url) && !network.privateHosts(url))
    throw new ToolError(`${url.host} is a private address. ${ONLY_PUBLIC} Nothing was sent.`);
  try {
    const answer = await outgoingFetch(url, {
      ...{ method, redirect: 'manual', signal: network.signal },
      headers: headers.map(([name, value]): [string, string] => [name, value]),
      body: body === undefined ? null : new Uint8Array(body),
    });
    const { status, statusText } = answer;
    const read = await readAtMost(answer.body ?? [], network.maxBytes);
    return { status, statusText, headers: [...answer.headers], body: read ?? overLimit(network.maxBytes) };
  } catch (error) {
    const fault = proxyFault(error);
    const message = fault?.message ?? `the connection to ${url.host} broke after ${method} was sent`;
    throw new TransportError(message, { nothingSent: fault !== undefined, cause: error });
  }
}
