import type { ApiError } from '../../server/api';

/** A failure in one line, with what to do. The desk's own words are no sentences, those of this page are. */
export function errorWords({ message, hint }: ApiError): string {
  if (hint === undefined) return message;
  return message.endsWith('.') ? `${message} ${hint}` : `${message}; ${hint}`;
}
