import { z } from 'zod';
import { errorMessage } from '../../contract/errors';
import { isObject, isSoundJson, type Json, parseJson } from '../../contract/json';
import { toPrettyJson } from '../format-result';
import { isToolError, isTransportError, ToolError, TransportError } from '../errors';
import { sha256 } from '../../system/sha256';

/** An answer to `tools/call`. Content of an unknown kind is kept unchanged. */
const answerSchema = z.object({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});

/** The server and the tool of a call. */
interface Called {
  server: string;
  tool: string;
}

/**
 * Turns an answer to `tools/call` into the text that a handler returns: the texts, descriptions of other content, and
 * the structured content if no text repeats it.
 *
 * @throws ToolError if the server says that the tool failed; TransportError for an answer that cannot be understood:
 * the tool may have done its work.
 */
export function readAnswer(answer: unknown, called: Called): string {
  try {
    return textOf(answerSchema.parse(answer), called);
  } catch (cause) {
    if (isToolError(cause)) throw cause;
    // An answer may also be too deep, or hold values that cannot become text.
    throw new TransportError(`the MCP server ${called.server} gave no answer that can be understood`, {
      cause,
    });
  }
}

/** The most bytes of an answer that is kept as it came, as JSON. */
const KEPT_BYTES = 1024 * 1024;

/**
 * An answer with its text, for a client that gets it through the gateway: images, sounds, files and structured content
 * reach the client as they came. The text alone, if it says the same or the answer is too large.
 */
export function keepAnswer(answer: unknown, text: string): unknown {
  const { data } = answerSchema.safeParse(answer);
  if (data === undefined) return text;
  const { content, structuredContent } = data;
  const [first, ...others] = content;
  const isText = first?.type === 'text' && others.length === 0 && structuredContent === undefined;
  const blocks = { content, structuredContent };
  return isText || Buffer.byteLength(JSON.stringify(blocks)) > KEPT_BYTES
    ? text
    : { content: text, contentType: 'text', blocks };
}

/** @throws ToolError if the server says that the tool failed; any other error for an answer that cannot become text. */
function textOf(
  { content, structuredContent, isError = false }: z.infer<typeof answerSchema>,
  { server, tool }: Called,
) {
  const texts = content.map(partText);
  if (isError) {
    const details: Json = { server, tool, ...structuredDetails(structuredContent) };
    throw new ToolError(texts.join('\n') || 'the tool failed without a message', { details });
  }
  const extra = structuredContent === undefined ? undefined : extraText(structuredContent, texts);
  return [...texts, ...(extra === undefined ? [] : [extra])].join('\n');
}

/** The most characters of binary content. For longer content the model gets only size and digest. */
const BINARY_CHARACTERS = 4 * 1024;

function partText(part: { type: string; [key: string]: unknown }) {
  const { type, text, data, mimeType, resource, uri, name } = part;
  if (type === 'text' && typeof text === 'string') return text;
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return binaryText(`${type} ${String(mimeType)}`, data);
  if (type === 'resource_link' && typeof uri === 'string')
    return `[resource ${uri}${typeof name === 'string' ? ` (${name})` : ''}]`;
  if (type === 'resource' && isObject(resource)) return resourceText(resource);
  return toPrettyJson(part);
}

function resourceText(resource: Record<string, unknown>) {
  const { uri, text, blob, mimeType } = resource;
  const head = `resource ${String(uri)}${typeof mimeType === 'string' ? `, ${mimeType}` : ''}`;
  if (typeof text === 'string') return `[${head}]\n${text}`;
  return typeof blob === 'string' ? binaryText(head, blob) : `[${head}]`;
}

function binaryText(head: string, base64: string) {
  const size = `${Buffer.byteLength(base64, 'base64')} bytes`;
  if (base64.length <= BINARY_CHARACTERS) return `[${head}, ${size}, base64] ${base64}`;
  return `[${head}, ${size}, SHA-256 ${sha256(Buffer.from(base64, 'base64'))}]`;
}

/** The structured content as text. Undefined if a text repeats it, as the protocol asks of servers. */
function extraText(structured: unknown, texts: readonly string[]): string | undefined {
  const own = toPrettyJson(structured);
  const isSaid = texts.some((text) => text.trim() === own || sameJson(text, own));
  return isSaid ? undefined : own;
}

function sameJson(text: string, own: string) {
  const parsed = parseJson(text);
  return parsed !== undefined && toPrettyJson(parsed) === own;
}

function structuredDetails(structured: unknown): { structured?: Json } {
  const parsed = z.json().safeParse(isSoundJson(structured) ? structured : undefined);
  return parsed.success ? { structured: parsed.data } : {};
}

/**
 * The error code with which our transport ends a request whose answer was lost. It is from the range that JSON-RPC
 * leaves to implementations. A server that sends this code also leaves its call in doubt.
 */
export const ANSWER_LOST = -32099;

/** The error codes of JSON-RPC and MCP for a request that was not accepted: nothing was called. */
const NOT_TAKEN_UP: readonly unknown[] = [-32700, -32600, -32601, -32602, -32021, -32022, -32042];

/**
 * Whether an HTTP status says that a request was not accepted. The status 408 does not say this: the request may have
 * arrived.
 */
function isRefusal(status: unknown) {
  return typeof status === 'number' && status >= 400 && status < 500 && status !== 408;
}

/**
 * The error for a call without an answer, or with a protocol error instead. Only an error which says that the request
 * was not accepted proves that nothing was done. Every other error leaves an unsafe call in doubt.
 */
export function failureOfCall(error: unknown, server: string): TransportError {
  if (isTransportError(error)) return error;
  const { code, data, status } = factsOf(error);
  const isLost = code === ANSWER_LOST;
  const nothingSent = NOT_TAKEN_UP.includes(code) || isRefusal(status);
  const said = typeof code === 'number' && !isLost ? `answered with the error ${code}` : 'did not answer';
  const message = `the MCP server ${server} ${said}: ${errorMessage(error)}`;
  const details = detailsOf({ server, code: isLost ? undefined : code, status, data });
  return new TransportError(message, { nothingSent, retryable: !nothingSent, details, cause: error });
}

interface ErrorFacts {
  code: unknown;
  data: unknown;
  status: unknown;
}

/** Reads the code and data of an error of the client library. Its class may come from another copy of the library. */
function factsOf(error: unknown): ErrorFacts {
  if (!(error instanceof Error)) return { code: undefined, data: undefined, status: undefined };
  const data: unknown = Reflect.get(error, 'data');
  const status = isObject(data) && !isProtocol(error) ? data['status'] : undefined;
  return { code: Reflect.get(error, 'code'), data: isProtocol(error) ? data : undefined, status };
}

/** Whether an error of the client library is the server's answer: even a refusal shows that the server reads. */
export function isAnswer(error: unknown): boolean {
  return error instanceof Error && isProtocol(error) && Reflect.get(error, 'code') !== ANSWER_LOST;
}

function isProtocol(error: Error) {
  return typeof Reflect.get(error, 'code') === 'number';
}

function detailsOf({ server, code, status, data }: ErrorFacts & { server: string }): Json {
  const known = z.json().safeParse(isSoundJson(data) ? data : undefined);
  return {
    server,
    ...(typeof code === 'number' || typeof code === 'string' ? { code } : {}),
    ...(typeof status === 'number' ? { status } : {}),
    ...(known.success ? { data: known.data } : {}),
  };
}
