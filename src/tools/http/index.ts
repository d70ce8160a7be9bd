import { X509Certificate } from 'node:crypto';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { z } from 'zod';
import { errorMessage } from '../../contract/errors';
import type { JsonObject } from '../../contract/json';
import { defineTool, inPlace } from '../define-tool';
import { ToolError } from '../errors';
import { checkedOptions, wrongOptions, callable } from '../option-values';
import type { CallContext, Duration, Tool } from '../types';
import { describeAnswer } from './describe';
import { follow } from './follow';
import { hostList, invalidOption } from './hosts';
import { fillReferences, secretRules, secretsIn } from './references';
import {
  checkRequest,
  type HttpRequest,
  classifyRequest,
  parameters,
  type RequestArguments,
  type Rules,
  spellRequest,
} from './request';
import { type Lookup, type Network, systemLookup, unsent } from './send';

const names = z.array(z.string()).readonly();

const optionsSchema = z.strictObject({
  /**
   * GET and HEAD to these hosts run without a question: `api.example.com`, `api.example.com:8443`, `*.example.com` for
   * one label in front. @default none
   */
  hosts: names.default([]),
  /** Hosts that may be reached although their addresses are private, written as in `hosts`. @default none */
  privateHosts: names.default([]),
  /** Requests to hosts on neither list: `ask` asks a person, `refuse` refuses them. @default 'ask' */
  others: z.enum(['ask', 'refuse']).default('ask'),
  /** Headers that a request may carry without a question, besides the usual headers of clients. @default none */
  safeHeaders: names.default([]),
  /** Secrets that a request may name, with the hosts and headers that each secret may go to. @default none */
  secrets: z.record(z.string(), z.strictObject({ hosts: names, headers: names })).default({}),
  /** The most bytes of a body, packed and unpacked. A longer body is not shown. @default 1 MiB */
  maxBytes: z
    .int()
    .min(1024)
    .max(16 * 1024 * 1024)
    .default(1024 * 1024),
  /** Certificates in PEM to trust, besides the certificates that Node trusts. @default none */
  ca: z.string().optional(),
  /** Finds the addresses of a name. @default the system's resolver */
  lookup: callable<Lookup>().optional(),
});

/** The options of `createHttpTools`. */
export interface HttpOptions extends z.input<typeof optionsSchema> {
  /** The time for the whole request: name, connection, redirects, body. @default 30 s */
  timeout?: Duration;
  /** Bytes of output kept: head and tail. @default 64 KiB */
  outputLimit?: number;
  /** The queue of a worker with another network. @default the turn's own */
  taskQueue?: string;
}

/** Headers that only say which form of answer a client wants. */
const READING: readonly string[] = [
  ...['accept', 'accept-language', 'user-agent', 'range'],
  ...['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'],
];

/**
 * Makes the tool `http_request`. GET and HEAD to the listed hosts run without a question; every other request asks
 * first and is sent once. Private addresses are not reached, unless listed. A request names secrets by reference: the
 * model, the history and the approver see only the names.
 *
 * @throws CountersignError `config_invalid` for a wrong option.
 * @example
 * const tools = createHttpTools({
 *   hosts: ['api.github.com'],
 *   secrets: { GITHUB: { hosts: ['api.github.com'], headers: ['authorization'] } },
 * });
 */
export function createHttpTools({ timeout, outputLimit, taskQueue, ...rest }: HttpOptions): Tool[] {
  const options = checkedOptions(optionsSchema, rest, wrongOptions('createHttpTools'));
  const { maxBytes, ca, lookup = systemLookup, ...lists } = options;
  const rules: Rules = {
    hosts: hostList('hosts', lists.hosts),
    privateHosts: hostList('privateHosts', lists.privateHosts),
    others: lists.others,
    safeHeaders: [...READING, ...lists.safeHeaders.map((name) => name.toLowerCase())],
    secrets: secretRules(lists.secrets),
  };
  const trust = ca === undefined ? undefined : trusting(ca);
  const network = { privateHosts: rules.privateHosts, lookup, maxBytes, trust };
  const tool = defineTool({
    name: 'http_request',
    description: describeTool(lists.hosts, [...rules.secrets.keys()]),
    parameters,
    safety: 'dangerous',
    effect: 'unsafe',
    categories: ['http'],
    timeout,
    outputLimit,
    taskQueue,
    classify: (args) => classifyRequest(checkRequest(args, rules), rules),
    preview: (args) => describeRequest(checkRequest(args, rules), args),
    handler: (args, context) => run(checkRequest(args, rules), { args, rules, network, context }),
  });
  return [inPlace(tool, placeOf({ ...lists, ca }), { spell: spellRequest })];
}

/**
 * The rules as they count in the digest of the tool, which has `hosts` in its description. Of secrets there are only
 * names and where they may go. Order, case and repetition do not count.
 */
function placeOf({
  privateHosts,
  others,
  safeHeaders,
  secrets,
  ca,
}: Omit<z.output<typeof optionsSchema>, 'hosts' | 'maxBytes' | 'lookup'>): JsonObject {
  const uses = Object.entries(secrets).map(([name, use]): [string, JsonObject] => [
    name,
    { hosts: asSet(use.hosts), headers: asSet(use.headers) },
  ]);
  return {
    privateHosts: asSet(privateHosts),
    others,
    safeHeaders: asSet(safeHeaders),
    ca: ca ?? null,
    secrets: Object.fromEntries(uses),
  };
}

function asSet(names: readonly string[]) {
  return [...new Set(names.map((name) => name.toLowerCase()))].sort();
}

function trusting(ca: string): SecureContext {
  try {
    // `createSecureContext` silently ignores text that is not a certificate, so we check the text first.
    new X509Certificate(ca);
    return createSecureContext({ ca: [...rootCertificates, ca] });
  } catch (error) {
    throw invalidOption('ca', errorMessage(error));
  }
}

function describeTool(hosts: readonly string[], secrets: readonly string[]) {
  const free = hosts.length === 0 ? '' : ` GET and HEAD need no approval at: ${hosts.join(', ')}.`;
  const named = secrets.length === 0 ? '' : ` Secrets: ${secrets.join(', ')}.`;
  return `Sends one HTTP request and answers status, headers and body. Needs approval.${free}${named}`;
}

/** The text that the approver reads. The body comes last, so that nothing in the body can look like another line. */
function describeRequest({ method, url, headers, body }: HttpRequest, args: RequestArguments) {
  const names = [...secretsIn(headers)];
  const lines = [
    `${method} ${url.href}`,
    `to ${url.host}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...names.map((name) => `with the secret ${name}`),
  ];
  if (body === undefined) return lines.join('\n');
  const how = args.body_encoding === 'base64' ? ', here in base64' : '';
  return [...lines, '', `body, ${body.length} bytes${how}:`, args.body ?? ''].join('\n');
}

interface Run {
  args: RequestArguments;
  rules: Rules;
  network: Omit<Network, 'signal'>;
  context: CallContext;
}

async function run(request: HttpRequest, { args, rules, network, context }: Run) {
  const { signal, secrets } = context;
  const headers = await unsent(request.url, signal, () => fillReferences(request.headers, secrets));
  assertNoSecret(args, secrets);
  return describeAnswer(await follow({ ...request, headers }, rules, { ...network, signal }));
}

/** Refuses the plain value of a secret: the model should not have it, and the value would stay in the history. */
function assertNoSecret({ url, headers, body = '' }: RequestArguments, { hide }: CallContext['secrets']) {
  const texts = [url, body, ...Object.values(headers)];
  if (texts.some((text) => hide(text) !== text))
    throw new ToolError(
      'The request holds the value of a secret. Name it as {{secret:NAME}}. Nothing was sent.',
    );
}
