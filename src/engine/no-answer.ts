import type { SERVER_HINTS } from '../contract/server-hints';
import { describeError } from './run';

/** What the SDK's core says, which has no codes, and what it means. */
const MEANINGS: readonly (readonly [RegExp, keyof typeof SERVER_HINTS])[] = [
  [/dns error|failed to lookup/i, 'unknownHost'],
  [/NotValidForName/i, 'otherName'],
  [/CertificateRequired/i, 'wantsCertificate'],
  [/InvalidCertificate|UnknownIssuer/i, 'untrusted'],
  [/InvalidContentType|corrupt message/i, 'withoutTls'],
  [/unauthenticated|unauthorized|permission|valid authentication credentials/i, 'keyRefused'],
  // A server that speaks TLS hangs up on a plain request.
  [/BrokenPipe|ConnectionReset|connection closed|h2 protocol error/i, 'wantsTls'],
];

/** Why a worker's connection could not be made. */
export const meaningOf = (error: unknown): keyof typeof SERVER_HINTS => {
  const said = describeError(error);
  return MEANINGS.find(([pattern]) => pattern.test(said))?.[1] ?? 'nobody';
};

/** The server's own words, which the SDK's core puts among its own. */
export const wordsOf = (error: unknown): string => {
  const said = describeError(error);
  return /, message: "([^"]+)"/.exec(said)?.[1] ?? said;
};
