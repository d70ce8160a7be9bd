import type { JSONRPCMessage } from '@modelcontextprotocol/client' with { 'resolution-mode': 'import' };

/** The most characters of the id of a server's request. Our answer repeats the id. */
const ID_CHARACTERS = 1024;

/** Whether a message of ours answers a request whose id is too long. A server that sends such an id counts as broken. */
export function repeatsLongId(message: JSONRPCMessage): boolean {
  if ('method' in message || !('id' in message)) return false;
  return typeof message.id === 'string' && message.id.length > ID_CHARACTERS;
}
