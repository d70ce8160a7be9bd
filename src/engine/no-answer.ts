import { SERVER_HINTS } from '../contract/server-hints';
import { describeError } from './run';

/** What the SDK's core says, which has no codes, and what it means. */
const MEANINGS: readonly (readonly [RegExp, keyof typeof SERVER_HINTS])[] = [
  [/dns error|failed to lookup/i, 'unknownHost'],
  [/NotValidForName/i, 'otherName'],
  [/CertificateRequired/i, 'wantsCertificate'],
  [/InvalidCertificate|UnknownIssuer/i, 'untrusted'],
  [/InvalidContentType|corrupt message/i, 'withoutTls'],
  [/unauthenticated|unauthorized|permission/i, 'keyRefused'],
  // A server that speaks TLS hangs up on a plain request.
  [/BrokenPipe|ConnectionReset|connection closed|h2 protocol error/i, 'wantsTls'],
];

/** What to do about a worker's connection that could not be made. */
export const hintForNoAnswer = (error: unknown): string => {
  const said = describeError(error);
  return SERVER_HINTS[MEANINGS.find(([pattern]) => pattern.test(said))?.[1] ?? 'nobody'];
};
