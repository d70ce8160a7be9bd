import { defined } from '../../contract/defined';
import { distinct, isJsonObject, type JsonObject, parseJson } from '../../contract/json';
import { addUsage, type Usage } from '../../contract/spending/usage';
import { utf8Bytes } from '../../contract/text/bytes';
import type { ModelNote } from '../../contract/think';
import { dropOutput, dropOutputs, type TranscriptEntry } from '../../contract/transcript';
import { ModelError, type ModelMessage, type ModelReply, type ModelRequest } from '../../models/model';
import { toolIn, writtenCall } from '../../models/written-call';
import { offeredTools } from '../../tools/builtin/find-tools';
import type { Agent } from '../../tools/define-agent';
import type { ActivityDeps } from '../deps';
import type { TextWriter } from '../text-streams';
import { type Asking, inTime } from './with-model';
import { toMessages } from './model-messages';
import { EmptyReply } from './model-tries';

interface AskingHow {
  asking: Asking;
  store: ActivityDeps['files'];
  /** Whether old outputs were left out for an earlier step. */
  isShortened: boolean;
  writer?: TextWriter;
}

/**
 * Asks the model once. It is asked a second time if it wrote a call as text, and if its answer does not fit.
 */
export async function askModel(
  agent: Agent,
  entries: readonly TranscriptEntry[],
  { asking, store, isShortened, writer }: AskingHow,
): Promise<ValuedReply> {
  const reader = { model: asking.model, store };
  let messages = await toMessages(entries, reader);
  let droppedBefore: number | undefined;
  const notes = new Set<ModelNote>();
  if (asking.isFallback) notes.add('fallback');
  if (isShortened) notes.add('shortened');
  const instructions = instructionsOf(agent);
  const tools = offeredTools(agent, entries);
  const names = tools.map((tool) => tool.function.name);
  return inTime(asking, async (generate) => {
    const ask = async (more: readonly ModelMessage[] = []): Promise<ModelReply> => {
      const reply = await generate({
        instructions,
        messages: [...messages, ...more],
        tools,
        // The text of a second answer would follow that of the first, so it comes only with the finished reply.
        onText: more.length === 0 ? writer?.add : undefined,
      });
      return {
        ...reply,
        toolCalls: reply.toolCalls.map((call) => ({ ...call, name: toolIn(call.name, names) ?? call.name })),
      };
    };
    const askWithin = async (): Promise<ModelReply> => {
      try {
        return await ask();
      } catch (error) {
        droppedBefore = isTooLong(error) ? oldOutputsEnd(entries) : undefined;
        if (droppedBefore === undefined) throw error;
        messages = await toMessages(dropOutputs(entries, droppedBefore), reader);
        notes.add('shortened');
        return await ask();
      }
    };
    const first = await askWithin();
    if (isCutShort({ instructions, messages, tools }, first)) notes.add('cut');
    const reply = await calledReply(agent, { names, reply: first, ask });
    const fitting = await fittingReply(agent, { names, reply: checked(reply, entries), ask });
    return { ...fitting, ...defined({ notes: notes.size === 0 ? undefined : [...notes], droppedBefore }) };
  });
}

/** Whether a model refused a conversation because it is too long. */
function isTooLong(error: unknown) {
  return error instanceof ModelError && error.kind === 'request' && TOO_LONG.test(error.message);
}

const TOO_LONG =
  /context[ _-]?(?:length|window|size)|maximum (?:context|prompt|input)|too[ _](?:long|large)|too many (?:input )?tokens|(?:tokens?|input|prompt)\b.{0,40}\bexceed|exceed.{0,60}\b(?:tokens?|context)|\bn(?:um)?_ctx\b/i;

/** The index of the last reply, if entries before it have outputs. */
function oldOutputsEnd(entries: readonly TranscriptEntry[]) {
  const last = entries.findLastIndex(({ kind }) => kind === 'reply');
  return entries.slice(0, Math.max(0, last)).some((entry) => dropOutput(entry) !== entry) ? last : undefined;
}

/** Fewer bytes than this are never called cut: a template's own tokens count for too much there. */
const LEAST_BYTES = 8 * 1024;

/** A token of less than this many bytes is usual in any language and in code. */
const MOST_BYTES_OF_A_TOKEN = 8;

/** Whether the counted tokens are too few for what was sent, as where a server drops the front of it silently. */
function isCutShort(sent: Pick<ModelRequest, 'instructions' | 'messages' | 'tools'>, { usage }: ModelReply) {
  const { inputTokens } = usage ?? {};
  if (inputTokens === undefined || inputTokens === 0) return false;
  const texts = sent.messages.flatMap((message) =>
    message.role === 'assistant'
      ? [message.content, ...message.toolCalls.map((call) => call.name + call.arguments)]
      : message.content,
  );
  const all = [sent.instructions, JSON.stringify(sent.tools), ...texts];
  const bytes = all.reduce((sum, text) => sum + utf8Bytes(text), 0);
  return bytes > LEAST_BYTES && inputTokens * MOST_BYTES_OF_A_TOKEN < bytes;
}

/** A reply, the names of the tools that the model has, and how it is asked with more messages at the end. */
interface Replied {
  names: readonly string[];
  reply: ModelReply;
  ask(more: readonly ModelMessage[]): Promise<ModelReply>;
}

/**
 * A reply that has no call as text. A model that writes one learns that once.
 *
 * @throws ModelError `request` if the second reply has one, too.
 */
async function calledReply(agent: Agent, { names, reply, ask }: Replied): Promise<ModelReply> {
  const tool = writtenIn(agent, names, reply);
  if (tool === undefined) return reply;
  const told = `You wrote a call of the tool "${tool}" as text. Nothing ran. Call tools as the interface has it, never in your text.`;
  const second = await askAgain(reply, told, ask);
  refuseWritten(agent, names, second);
  return second;
}

/** The tool whose call a reply has as text. An answer with the agent's schema is not a call. */
function writtenIn({ output }: Agent, names: readonly string[], reply: ModelReply) {
  const { text, toolCalls, thoughts = '' } = reply;
  if (toolCalls.length > 0) return undefined;
  if (output !== undefined && 'value' in readOutput(text, output)) return undefined;
  return writtenCall(text.trim() === '' ? thoughts : text, names);
}

function refuseWritten(agent: Agent, names: readonly string[], reply: ModelReply) {
  const tool = writtenIn(agent, names, reply);
  if (tool === undefined) return;
  const message = `the model writes its calls as text, so ${tool} did not run: its server has no tool parser for this model. Set one: --enable-auto-tool-choice and --tool-call-parser for vLLM, --tool-call-parser for SGLang, --jinja for llama.cpp, a template with tools for Ollama and LM Studio`;
  throw new ModelError('request', message, { retryable: false, usage: reply.usage });
}

/** Asks again after a reply, and says why. The usage of both replies counts. */
async function askAgain(reply: ModelReply, why: string, ask: Replied['ask']): Promise<ModelReply> {
  const { text, opaque, usage } = reply;
  const said: ModelMessage[] =
    text === '' ? [] : [{ role: 'assistant', content: text, toolCalls: [], opaque }];
  const second = await ask([...said, { role: 'user', content: why }]);
  return { ...second, ...defined({ usage: second.usage && addUsage(usage ?? {}, second.usage) }) };
}

/**
 * Checks that a reply is not empty. After a tool's result an empty reply is an answer, with which some models end a
 * turn.
 */
function checked(reply: ModelReply, entries: readonly TranscriptEntry[]): ModelReply {
  const { text, toolCalls, finishReason, usage } = reply;
  if (text !== '' || toolCalls.length > 0) return reply;
  const isCut = ['length', 'error', 'tool-calls'].includes(finishReason);
  if (entries.at(-1)?.kind === 'result' && !isCut) return reply;
  const message = `the model answered nothing (${finishReason})`;
  throw new EmptyReply('server', message, { retryable: true, usage });
}

/** A reply. If it is an answer and the agent asks for a value, it has the value of its text, too. */
export interface ValuedReply extends ModelReply {
  value?: JsonObject;
  /** What people should know about how the reply came about. */
  notes?: ModelNote[];
  /** The index before which outputs were left out because the conversation was too long. Absent: nothing more was. */
  droppedBefore?: number;
}

/**
 * The agent's instructions with the form of the answer. The model reads this in words, because not every provider has
 * both tools and schemas.
 */
function instructionsOf({ instructions, output }: Agent) {
  if (output === undefined) return instructions;
  const schema = JSON.stringify(output.schema);
  return `${instructions}\n\nWhen you answer without calling a tool, the answer is one JSON object and nothing else. It fits this JSON Schema:\n${schema}`;
}

/**
 * A reply whose answer fits the agent's schema. An answer that does not fit is given back to the model once.
 *
 * @throws ModelError `request` if the second answer does not fit either.
 */
async function fittingReply(agent: Agent, { names, reply, ask }: Replied): Promise<ValuedReply> {
  const { output } = agent;
  if (output === undefined || reply.toolCalls.length > 0) return reply;
  const first = readOutput(reply.text, output);
  if ('value' in first) return { ...reply, ...first };
  const told = `${first.wrong} Answer again, with the whole JSON object only.`;
  const second = await askAgain(reply, told, ask);
  refuseWritten(agent, names, second);
  if (second.toolCalls.length > 0) return second;
  const value = readOutput(second.text, output);
  if ('value' in value) return { ...second, ...value };
  throw new ModelError('request', `the answer is wrong a second time: ${value.wrong}`, {
    retryable: false,
    usage: second.usage,
  });
}

/** Reports how much of its model a reply used. */
export function noteUsage(
  { observe }: ActivityDeps,
  { name: agent }: Agent,
  { model, usage }: { model: string; usage?: Usage },
): void {
  if (usage !== undefined) observe?.({ kind: 'usage', agent, model, usage });
}

/** The most issues that the model reads, which is enough to correct an answer. */
const MOST_ISSUES = 20;

/** The value of an answer, or what is wrong with the answer. */
type ReadAnswer = { value: JsonObject } | { wrong: string };

/**
 * Reads the value that an agent asks for from a text: the whole text or, as models like to write, one JSON object in a
 * Markdown fence or between words. Several objects that fit have no one meaning.
 */
function readOutput(text: string, output: NonNullable<Agent['output']>): ReadAnswer {
  const objects = objectsIn(text);
  const fitting = objects.filter((value) => output.parse(value).ok);
  const [value, ...others] = distinct(fitting);
  if (others.length > 0) return { wrong: 'The answer has several JSON objects that fit.' };
  if (value !== undefined) return { value };
  const [first] = objects;
  if (first === undefined) return { wrong: 'The answer is not a JSON object.' };
  const parsed = output.parse(first);
  const issues = parsed.ok ? [] : parsed.issues.slice(0, MOST_ISSUES);
  const words = issues.map(({ path, message }) => `${path || '/'}: ${message}`);
  return { wrong: `The answer does not fit its schema: ${words.join('; ')}.` };
}

function objectsIn(text: string): JsonObject[] {
  const whole = parseJson(text.trim());
  if (whole !== undefined) return isJsonObject(whole) ? [whole] : [];
  const fenced = [...text.matchAll(/^[ \t]*```[^\n`]*\n([\s\S]*?)```/gm)];
  const found = fenced.map(([, inner = '']) => parseJson(inner)).filter(isJsonObject);
  if (found.length > 0) return found;
  const between = parseJson(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
  return isJsonObject(between) ? [between] : [];
}
