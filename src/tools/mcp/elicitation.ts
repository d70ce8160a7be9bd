import { z } from 'zod';
import type { CallReply } from '../../contract/call';
import { errorMessage } from '../../contract/errors';
import { isObject, type JsonObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import type { Question } from '../../contract/question';
import { NO_SECRETS, toForm } from '../../contract/schema/question-form';
import { isSecretName } from '../../contract/text/redact';
import { escapeHidden } from '../../contract/text/unsafe-text';
import { checkedOptions } from '../option-values';
import { mentionsSecret } from './secret-words';

/** The longest time that a call may wait for the answers of people in total, in addition to its timeout. */
export const ELICITATION_MS = 60 * 60 * 1000;

/** The server that asks, and the tool whose call it asks in. */
interface AskedBy {
  server: string;
  tool: string;
}

/** The call that waits for the server. */
interface Asking {
  tool: string;
  /** Absent: nobody can be asked. */
  ask?(question: Question, withdraw: AbortSignal): Promise<CallReply>;
}

/** The questions of a server in one call. */
interface CallQuestions {
  /** Asks a person. The question is withdrawn when `signal` aborts: when the server cancels the question or ends. */
  elicit(params: unknown, signal: AbortSignal): Promise<ElicitAnswer>;
  /** Withdraws all open questions, because the call is over. Resolves when this is recorded; never rejects. */
  close(): Promise<void>;
}

/** The server that asks, and a function for lines in the worker's log. */
interface AskingServer {
  server: string;
  warn(message: string): void;
}

/** Handles the questions of a server in a call. */
export function questionsOf(call: Asking, server: AskingServer): CallQuestions {
  const over = new AbortController();
  const open = new Set<Promise<unknown>>();
  return {
    elicit: (params, signal) => {
      const answer = elicit(params, { ...call, withdraw: AbortSignal.any([signal, over.signal]) }, server);
      const forget = () => void open.delete(answer);
      open.add(answer);
      answer.then(forget, forget);
      return answer;
    },
    close: async () => {
      over.abort(new Error('the call of the server is over'));
      await Promise.allSettled(open);
    },
  };
}

/** The answer to the server. */
type ElicitAnswer =
  { action: 'accept'; content: Record<string, string | number | boolean> } | { action: 'decline' | 'cancel' };

/** No list of words finds every way to ask. */
const NEVER_A_SECRET = 'Never give a password, a key or a code here.';

const request = z.object({
  mode: z.string().optional(),
  message: z.string(),
  requestedSchema: z.record(z.string(), z.unknown()),
});

/**
 * Asks a person a question of a server. `call` is undefined if the server asked outside of a call.
 *
 * @throws ProtocolError for the server, with the reason why nobody was asked. The log gets this reason too.
 */
export async function elicit(
  params: unknown,
  call: (Asking & { withdraw: AbortSignal }) | undefined,
  { server, warn }: AskingServer,
): Promise<ElicitAnswer> {
  const { ProtocolError, ProtocolErrorCode } = await import('@modelcontextprotocol/client');
  const refused = (why: string): Error => {
    warn(`the MCP server ${server} asked for input, and nobody was asked: ${why}`);
    return new ProtocolError(ProtocolErrorCode.InvalidParams, why);
  };
  if (call === undefined) throw refused('it asked outside of a call');
  if (call.ask === undefined) return { action: 'cancel' };
  try {
    const question = readElicitation(params, { server, tool: call.tool });
    return toElicitAnswer(await call.ask(question, call.withdraw));
  } catch (error) {
    // The server does not wait for this answer any more.
    if (call.withdraw.aborted) return { action: 'cancel' };
    throw refused(errorMessage(error));
  }
}

/**
 * The question of a server in the middle of a call, in words that say who asks. We do not trust the server: its form
 * has the same limits as any other form, and a question that could be for a password or a key is refused.
 *
 * @throws Error with the reason why nobody is asked.
 */
export function readElicitation(params: unknown, { server, tool }: AskedBy): Question {
  const { mode = 'form' } = isObject(params) ? params : {};
  if (mode !== 'form') throw new Error('only the mode "form" is supported');
  const invalid = (words: string) => new Error(`not a request for input: ${words}`);
  const { message, requestedSchema } = checkedOptions(request, params, invalid);
  const made = toForm(plain(requestedSchema));
  if (!made.ok) {
    const why = made.issues.map(({ path, message: what }) => `${path} ${what}`.trim()).join('; ');
    throw new Error(`a person could not be shown this form: ${why}`);
  }
  if (asksForSecret(message, made.form)) throw new Error(NO_SECRETS);
  const head = `The MCP server ${shown(server)} asks this in a call of its tool ${shown(tool)}. The answer goes to that server.`;
  const text = `${head} ${NEVER_A_SECRET}\n\n${escapeHidden(message)}`;
  if (text.length > LIMITS.questionChars) throw new Error('the message is too long');
  return { text, form: made.form };
}

/** The reply as an answer to the server. A question without a reply is cancelled and not declined. */
export function toElicitAnswer(reply: CallReply): ElicitAnswer {
  if (reply.answer === 'declined') return { action: 'decline' };
  if (reply.answer === 'unanswered') return { action: 'cancel' };
  const content: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(reply.content))
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      content[name] = value;
  return { action: 'accept', content };
}

/** The form in our own dialect: choices with titles become plain choices, and the titles move into the description. */
function plain(schema: Record<string, unknown>) {
  const { properties } = schema;
  if (!isObject(properties)) return schema;
  const fields = Object.entries(properties).map(([name, field]) => [name, plainField(field)] as const);
  return { ...schema, properties: Object.fromEntries(fields) };
}

const choices = z.array(z.object({ const: z.string(), title: z.string() })).max(LIMITS.formOptions);
const titles = z.array(z.string()).max(LIMITS.formOptions);

function plainField(field: unknown) {
  if (!isObject(field) || field['type'] !== 'string') return field;
  const { oneOf, enumNames, ...rest } = field;
  const titled = choices.safeParse(oneOf);
  if (titled.success) {
    const lines = titled.data.map(({ const: value, title }) => `${value}: ${title}`);
    return { ...rest, enum: titled.data.map(({ const: value }) => value), ...described(rest, lines) };
  }
  const named = titles.safeParse(enumNames);
  if (!named.success || !Array.isArray(rest['enum'])) return field;
  const lines = rest['enum'].map((value, at) => `${String(value)}: ${named.data[at] ?? ''}`);
  return { ...rest, ...described(rest, lines) };
}

function described({ description }: Record<string, unknown>, lines: readonly string[]) {
  return { description: [...(typeof description === 'string' ? [description] : []), ...lines].join('\n') };
}

/**
 * True if a form has a field for free text, and the message or the name or words of such a field mention a secret. Also
 * true if a form has a field for a number, and the message or the name or words of such a field mention a secret that
 * is a number.
 */
function asksForSecret(message: string, form: JsonObject) {
  const fields = Object.entries(isObject(form['properties']) ? form['properties'] : {});
  const free = fields.filter(([, field]) => isFreeText(field));
  return (
    free.some(([name]) => isSecretName(name)) ||
    mention('text', message, free) ||
    mention(
      'code',
      message,
      fields.filter(
        ([, field]) => isObject(field) && (field['type'] === 'integer' || field['type'] === 'number'),
      ),
    )
  );
}

/** Whether there are fields, and the message, a field's name or its words mention a secret of this kind. */
function mention(kind: 'code' | 'text', message: string, fields: readonly [string, unknown][]) {
  const words = fields.flatMap(([name, field]) => {
    const { title, description } = isObject(field) ? field : {};
    return [name, title, description];
  });
  return (
    fields.length > 0 &&
    [message, ...words].some((text) => typeof text === 'string' && mentionsSecret(text, kind))
  );
}

function isFreeText(field: unknown) {
  if (!isObject(field) || field['type'] !== 'string' || field['enum'] !== undefined) return false;
  return field['format'] === undefined || field['format'] === 'uri';
}

function shown(name: string) {
  return escapeHidden(JSON.stringify(name));
}
