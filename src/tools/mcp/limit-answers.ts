import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client' with {
  'resolution-mode': 'import',
};
import { TransportError } from '../errors';

/** The most characters of the id of a server's request. Our answer repeats the id. */
const ID_CHARACTERS = 1024;

/** Whether a message of ours answers a request whose id is too long. A server that sends such an id counts as broken. */
export function repeatsLongId(message: JSONRPCMessage): boolean {
  if ('method' in message || !('id' in message)) return false;
  return typeof message.id === 'string' && message.id.length > ID_CHARACTERS;
}

/** How many of our answers may wait for a server to take them, before the server counts as broken. */
const MOST_ANSWERS = 64;

/** Closes the connection to a server that asks without end and takes no answers, or that sends ids that are too long. */
export function limitAnswers(transport: Transport): void {
  const send = transport.send.bind(transport);
  let waiting = 0;
  transport.send = async (message, options) => {
    if ('method' in message) return send(message, options);
    if (waiting >= MOST_ANSWERS || repeatsLongId(message)) {
      await transport.close();
      throw new TransportError('the connection was closed: the MCP server asks too much', {
        nothingSent: true,
      });
    }
    waiting += 1;
    try {
      await send(message, options);
    } finally {
      waiting -= 1;
    }
  };
}
