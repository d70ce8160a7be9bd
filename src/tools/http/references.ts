import { ToolError } from '../errors';
import { LEAST_CHARACTERS } from '../secrets';
import type { CallContext } from '../types';
import { hostList, type HostList, invalidOption } from './hosts';

/** The places that a secret may go to. */
interface SecretUse {
  /** Hosts, written as in the list `hosts` of the pack. */
  hosts: readonly string[];
  /** Names of the request's headers. */
  headers: readonly string[];
}

/** Name and value of a header. The name is in lower case. The value may contain `{{secret:NAME}}`. */
export type Header = readonly [name: string, value: string];

/** The secrets of a pack, by name. */
type SecretRules = ReadonlyMap<string, { isFor: HostList; headers: readonly string[] }>;

const NAME = /^[A-Za-z0-9_.-]{1,100}$/;
const REFERENCE = /\{\{secret:([A-Za-z0-9_.-]{1,100})\}\}/g;
/** Matches every attempt to write a reference, also in a wrong or encoded form. */
const ATTEMPT = /(?:\{|%7b){2}(?:\s|%20)*secret/i;

/** @throws CountersignError `config_invalid` for a secret that could go nowhere, or a name that no reference can hold. */
export function secretRules(secrets: Readonly<Record<string, SecretUse>>): SecretRules {
  return new Map(
    Object.entries(secrets).map(([name, { hosts, headers }]) => {
      const option = `secrets.${name}`;
      if (!NAME.test(name)) throw invalidOption(option, 'a name has letters, digits, `_`, `.` and `-`');
      if (hosts.length === 0 || headers.length === 0)
        throw invalidOption(option, 'names no host or no header, so the secret could go nowhere');
      const lower = headers.map((header) => header.toLowerCase());
      return [name, { isFor: hostList(`${option}.hosts`, hosts), headers: lower }];
    }),
  );
}

/** The parts of a request that are checked for references. */
interface Referring {
  url: URL;
  headers: readonly Header[];
  body: string | undefined;
}

/**
 * Refuses a reference in a place that its secret may not go to. Over plain HTTP, secrets go to private hosts only.
 *
 * @throws ToolError for the model.
 */
export function assertReferences(
  { url, headers, body }: Referring,
  secrets: SecretRules,
  isPrivate: HostList,
): void {
  if (ATTEMPT.test(url.href) || ATTEMPT.test(body ?? ''))
    throw new ToolError('A secret may stand in the value of a header only, as {{secret:NAME}}.');
  for (const [header, value] of headers) {
    if (ATTEMPT.test(value.replace(REFERENCE, '')))
      throw new ToolError(`The header ${header} names a secret in another form than {{secret:NAME}}.`);
    for (const name of referencesIn(value)) assertUse({ name, header, url }, secrets, isPrivate);
  }
}

function assertUse(
  { name, header, url }: { name: string; header: string; url: URL },
  secrets: SecretRules,
  isPrivate: HostList,
) {
  const use = secrets.get(name);
  const known = [...secrets.keys()].join(', ') || 'none';
  if (use === undefined) throw new ToolError(`There is no secret ${name} for requests; there are: ${known}.`);
  if (!use.isFor(url)) throw new ToolError(`The secret ${name} may not go to ${url.host}.`);
  if (!use.headers.includes(header))
    throw new ToolError(`The secret ${name} may stand in the header ${use.headers.join(' or ')} only.`);
  if (url.protocol !== 'https:' && !isPrivate(url))
    throw new ToolError(`The secret ${name} may not go over plain HTTP; use https.`);
}

/** The names of the secrets in a value, in order. */
export function referencesIn(value: string): string[] {
  return [...value.matchAll(REFERENCE)].map(([, name = '']) => name);
}

/** The secrets that headers refer to, each once. */
export function secretsIn(headers: readonly Header[]): ReadonlySet<string> {
  return new Set(headers.flatMap(([, value]) => referencesIn(value)));
}

/**
 * Replaces the references in headers by the values of the secrets. The result is for sending only.
 *
 * @throws ToolError if a secret cannot be read, is too short to be redacted in the answer, or has a character that
 * no header can carry.
 */
export async function fillReferences(
  headers: readonly Header[],
  secrets: CallContext['secrets'],
): Promise<Header[]> {
  const values = new Map<string, string>();
  for (const name of secretsIn(headers)) {
    const value = await secrets.get(name);
    if (value.length < LEAST_CHARACTERS)
      throw new ToolError(
        `The secret ${name} has fewer than ${LEAST_CHARACTERS} characters, too few to be redacted in an answer.`,
      );
    if (!isHeaderValue(value))
      throw new ToolError(
        `The secret ${name} holds a character that no header can carry, such as a line end.`,
      );
    values.set(name, value);
  }
  return headers.map(([header, value]) => [
    header,
    value.replace(REFERENCE, (_, name: string) => values.get(name) ?? ''),
  ]);
}

/** Whether a header can carry a text: printable ASCII, blanks and tabs. */
export function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e]*$/.test(text);
}
