import type {
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { isObject, type JsonObject, parseJson, isJsonObject, type Json } from '../../contract/json';
import { ModelError } from '../model';

/** The name under which a part keeps what its server wants back. */
export const CHAT = 'chat';

/** The fields in which servers send thoughts. A reply has one of them, or the same words in several. */
const THOUGHTS = ['reasoning_content', 'reasoning', 'reasoning_text', 'thinking'];

/** The name for thoughts that came as parts of the content. */
export const IN_CONTENT = 'content';

/** Fields of a message that its server wants back, besides the thoughts themselves. */
const WANTED_BACK = /reason|think|thought|signature|encrypted|opaque|extra_content|provider_specific/;

const CALL_FIELDS = ['id', 'index', 'type', 'name', 'function', 'arguments', 'parameters', 'input'];
const FUNCTION_FIELDS = ['name', 'arguments', 'parameters', 'input'];

/** A call while it is put together. */
interface OpenCall {
  /** The place that the server gave it. Undefined if it gave none. */
  place: string | undefined;
  id: string;
  name: string;
  arguments: string;
  extra: JsonObject;
  inFunction: JsonObject;
}

/** A piece of text or thoughts. `field` is the name under which thoughts came. */
type Piece = { kind: 'text'; text: string } | { kind: 'reasoning'; text: string; field: string };

/**
 * Puts a reply of a server of chat completions together, from the pieces of a stream or from one whole body. It takes
 * whatever has one meaning, however the server writes it.
 */
export class ReplyReader {
  private readonly calls: OpenCall[] = [];
  private message: JsonObject = {};
  private open: { key: string; id: string } | undefined;
  private segments = 0;
  private reason: string | undefined;
  private usage: unknown;
  private frames = 0;
  private hasChoice = false;
  private isDone = false;

  /** Takes one body, or one event of a stream. An event without choices, such as a sign of life, means nothing. */
  take(frame: unknown): LanguageModelV3StreamPart[] {
    this.frames += 1;
    if (!isObject(frame)) return [];
    const { choices } = frame;
    const error = errorIn(frame);
    if (error !== undefined) return [{ type: 'error', error }];
    if (choices !== undefined && choices !== null && !Array.isArray(choices))
      throw notAReply('its choices are not a list');
    this.usage = usageIn(frame) ?? this.usage;
    const list: unknown[] = Array.isArray(choices) ? choices : [];
    const first = list.filter(isObject).find(({ index }) => Number(index ?? 0) === 0);
    return first === undefined ? [] : [{ type: 'raw', rawValue: frame }, ...this.takeChoice(first)];
  }

  /** Takes the mark with which a stream ends. */
  done(): void {
    this.isDone = true;
  }

  private takeChoice(choice: Record<string, unknown>): LanguageModelV3StreamPart[] {
    this.hasChoice = true;
    const reason = asWord(choice['finish_reason']);
    if (reason !== undefined && !['', 'null', 'None'].includes(reason)) this.reason = reason;
    this.usage = usageIn(choice) ?? this.usage;
    const isMessage = !isObject(choice['delta']);
    const said = isMessage ? (choice['message'] ?? { content: choice['text'] }) : choice['delta'];
    if (!isObject(said)) return [];
    const isKept = (name: string) => WANTED_BACK.test(name) && !this.isThought(said, name);
    this.message = mergeExtra(this.message, extraOf(said, isKept));
    const parts = piecesOf(said).flatMap((piece) => this.show(piece));
    this.takeCalls(said, isMessage);
    return parts;
  }

  private isThought(said: Record<string, unknown>, name: string) {
    return THOUGHTS.includes(name) && textOf(said[name]) !== '';
  }

  private show(piece: Piece): LanguageModelV3StreamPart[] {
    const { kind, text } = piece;
    if (text === '') return [];
    const key = kind === 'text' ? kind : piece.field;
    const begin: LanguageModelV3StreamPart[] = [];
    if (this.open?.key !== key) {
      this.open = { key, id: `${kind}-${++this.segments}` };
      const meta = kind === 'text' ? {} : { providerMetadata: { [CHAT]: { field: piece.field } } };
      begin.push({ type: `${kind}-start`, id: this.open.id, ...meta });
    }
    return [...begin, { type: `${kind}-delta`, id: this.open.id, delta: text }];
  }

  private takeCalls(said: Record<string, unknown>, isMessage: boolean) {
    const list = said['tool_calls'] ?? said['function_call'] ?? [];
    const taken = new Set<OpenCall>();
    for (const wire of (Array.isArray(list) ? list : [list]).filter(isObject)) {
      const piece = pieceOfCall(wire);
      const known = isMessage ? undefined : this.callOf(piece, taken);
      const call = known ?? piece;
      if (known === undefined) this.calls.push(piece);
      else addToCall(known, piece);
      taken.add(call);
    }
  }

  /** The call that a piece of a stream belongs to. Undefined if a further call begins with it. */
  private callOf(piece: OpenCall, taken: ReadonlySet<OpenCall>): OpenCall | undefined {
    const known =
      piece.place === undefined
        ? (this.calls.findLast(({ id }) => id !== '' && id === piece.id) ?? this.lastFor(piece))
        : this.calls.findLast(({ place }) => place === piece.place);
    if (known === undefined || piece.name === '') return known;
    const isOther = piece.id !== '' && known.id !== '' && piece.id !== known.id;
    const isRepeated = piece.arguments === '' || piece.arguments === known.arguments;
    const isFurther = known.name !== '' && (known.name !== piece.name || isWhole(known.arguments));
    if (piece.place === undefined && taken.has(known)) return undefined;
    return (isOther && (isFurther || isWhole(piece.arguments))) || (isFurther && !(isRepeated && !isOther))
      ? undefined
      : known;
  }

  /** The last call, for a piece without place and known id. A name with another id begins a call. */
  private lastFor({ id, name }: OpenCall): OpenCall | undefined {
    return id !== '' && name !== '' ? undefined : this.calls.at(-1);
  }

  /**
   * The rest of the reply: its calls, and how it ended.
   *
   * @throws ModelError if no whole reply came.
   */
  end(): LanguageModelV3StreamPart[] {
    if (!this.hasChoice && this.isDone && this.frames > 0) throw notAReply('it has no choices');
    if (!this.hasChoice || (this.reason === undefined && !this.isDone))
      throw new ModelError(
        'network',
        'the reply ended early: its stream has no finish reason and no [DONE]',
        {
          retryable: true,
        },
      );
    const calls = this.calls.filter(({ name, arguments: args }) => name !== '' || args !== '');
    if (calls.some(({ name }) => name === '')) throw notAReply('a call has no name');
    const finishReason = finishOf(this.reason, calls.length > 0);
    return [
      ...this.kept(),
      ...calls.map(toPart),
      { type: 'finish', finishReason, usage: chatUsage(this.usage) },
    ];
  }

  /** Fields of the message that have no place in its text, thoughts or calls. */
  private kept(): LanguageModelV3StreamPart[] {
    if (Object.keys(this.message).length === 0) return [];
    const providerMetadata = { [CHAT]: { message: this.message } };
    return [{ type: 'reasoning-start', id: 'message', providerMetadata }];
  }
}

function notAReply(why: string) {
  return new ModelError('server', `the server's answer is JSON, but not a reply: ${why}`, {
    retryable: true,
  });
}

/** The error that a body or an event tells. `error: null` beside a reply is none. */
function errorIn(frame: Record<string, unknown>): unknown {
  const { error, choices, object, type } = frame;
  if (typeof error === 'string' && error !== '') return { message: error };
  if (isObject(error) && (Object.keys(error).length > 0 || choices === undefined)) return error;
  return choices === undefined && (object === 'error' || type === 'error') ? frame : undefined;
}

function usageIn(frame: Record<string, unknown>): unknown {
  const { usage, x_groq: groq } = frame;
  if (isObject(usage)) return usage;
  return isObject(groq) ? (groq['usage'] ?? undefined) : undefined;
}

/** Thoughts and text of a message or of a piece of it, in their order. */
function piecesOf(said: Record<string, unknown>): Piece[] {
  const field = THOUGHTS.find((name) => textOf(said[name]) !== '');
  const thoughts: Piece[] =
    field === undefined ? [] : [{ kind: 'reasoning', text: textOf(said[field]), field }];
  const { content } = said;
  return [...thoughts, ...(Array.isArray(content) ? content : [content]).map(pieceOfContent)];
}

function pieceOfContent(part: unknown): Piece {
  if (!isObject(part)) return { kind: 'text', text: asWord(part) ?? '' };
  const type = asWord(part['type']) ?? 'text';
  if (/^(?:thinking|reasoning)/.test(type))
    return {
      kind: 'reasoning',
      text: textOf(part['thinking'] ?? part['reasoning'] ?? part),
      field: IN_CONTENT,
    };
  return { kind: 'text', text: /text$/.test(type) ? textOf(part) : '' };
}

function pieceOfCall(wire: Record<string, unknown>): OpenCall {
  const inner = isObject(wire['function']) ? wire['function'] : {};
  const either = { ...wire, ...inner };
  return {
    place: asWord(wire['index']),
    id: asWord(wire['id']) ?? '',
    name: asWord(either['name']) ?? asWord(wire['function']) ?? '',
    arguments: argumentsText(either['arguments'] ?? either['parameters'] ?? either['input']),
    extra: extraOf(wire, (name) => !CALL_FIELDS.includes(name)),
    inFunction: extraOf(inner, (name) => !FUNCTION_FIELDS.includes(name)),
  };
}

/** The arguments of one piece. What the whole text means is read at the end. */
function argumentsText(value: unknown) {
  return typeof value === 'string' ? value : asArguments(value);
}

function addToCall(call: OpenCall, piece: OpenCall) {
  call.id ||= piece.id;
  call.name ||= piece.name;
  // Some servers send the whole text once more when it is complete.
  if (piece.arguments !== call.arguments || !isWhole(call.arguments)) call.arguments += piece.arguments;
  call.extra = mergeExtra(call.extra, piece.extra);
  call.inFunction = mergeExtra(call.inFunction, piece.inFunction);
}

function toPart({ id, name, arguments: args, extra, inFunction }: OpenCall): LanguageModelV3StreamPart {
  const kept = { ...extra, ...(Object.keys(inFunction).length === 0 ? {} : { function: inFunction }) };
  const meta = Object.keys(kept).length === 0 ? {} : { providerMetadata: { [CHAT]: kept } };
  return { type: 'tool-call', toolCallId: id, toolName: name, input: asArguments(args), ...meta };
}

/** What servers write as the reason why a reply ended. */
const REASONS: readonly [RegExp, LanguageModelV3FinishReason['unified']][] = [
  [/^(?:stop\w*|eos\w*|end\w*|complete\w*|finished?|normal|done)$/, 'stop'],
  [/length|max_?(?:output_?)?tokens|truncated/, 'length'],
  [/content_?filter|safety|blocked|prohibited|recitation|sensitive/, 'content-filter'],
  [/^(?:tool|function)_?(?:calls?|use)$/, 'tool-calls'],
];

/** Reasons that say that the reply is broken, although the server sent one. */
const BROKEN = /error|abort|cancel|malformed|overload/;

/**
 * Why a reply ended. A reply with calls is one, whatever the server calls it.
 *
 * @throws ModelError `server` if the server says that it broke the reply off.
 */
function finishOf(raw: string | undefined, hasCalls: boolean): LanguageModelV3FinishReason {
  const word = (raw ?? 'stop').toLowerCase().replaceAll(/[\s-]+/g, '_');
  if (BROKEN.test(word))
    throw new ModelError('server', `the server broke the reply off: ${raw}`, { retryable: true });
  const unified = REASONS.find(([pattern]) => pattern.test(word))?.[1] ?? 'other';
  const isCallIn = hasCalls && (unified === 'stop' || unified === 'other');
  return { unified: isCallIn ? 'tool-calls' : unified, raw: raw ?? 'stop' };
}

/**
 * The tokens that a server of chat completions counted. Where thoughts are not part of the counted output, the total or
 * the thoughts' own count tells. Cached tokens have several names.
 */
function chatUsage(counted: unknown): LanguageModelV3Usage {
  const usage = isObject(counted) ? counted : {};
  const of = (value: unknown) => (isObject(value) ? value : {});
  const first = (values: readonly unknown[]) => values.map(asNumber).find((value) => value !== undefined);
  const inputs = of(usage['prompt_tokens_details'] ?? usage['input_tokens_details']);
  const outputs = of(usage['completion_tokens_details'] ?? usage['output_tokens_details']);
  const input = first([usage['prompt_tokens'], usage['input_tokens']]);
  const written = first([usage['completion_tokens'], usage['output_tokens']]);
  const total = asNumber(usage['total_tokens']);
  const thoughts = first([outputs['reasoning_tokens'], usage['reasoning_tokens']]);
  const cached = first([
    inputs['cached_tokens'],
    usage['prompt_cache_hit_tokens'],
    usage['cached_tokens'],
    usage['cache_read_input_tokens'],
  ]);
  const output = outputTokens({ input, written, total, thoughts });
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: thoughts },
    raw: { prompt_tokens: input, completion_tokens: output, total_tokens: total },
  };
}

type Counts = Record<'input' | 'written' | 'total' | 'thoughts', number | undefined>;

function outputTokens({ input, written, total, thoughts = 0 }: Counts): number | undefined {
  const byTotal = input === undefined || total === undefined ? 0 : total - input;
  if (written === undefined) return byTotal > 0 ? byTotal : undefined;
  const withThoughts = thoughts > written ? written + thoughts : written;
  return total === undefined || input === undefined ? withThoughts : Math.max(written, byTotal);
}

/** A number, or a text that is one, such as `"12"`. */
function asNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined;
}

/**
 * The arguments of a call as one text. A server may send them as an object, as a text in a text, or as null or an empty
 * list, as some languages write an object without keys. Every other text stays as the model wrote it.
 */
function asArguments(value: unknown) {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') return isEmptyList(value) ? '' : JSON.stringify(value);
  const read = parseJson(value);
  if (value.trim() === '' || read === null || isEmptyList(read)) return '';
  return typeof read === 'string' && isObject(parseJson(read)) ? read : value;
}

/** The fields of a part that are sent back as they came: JSON that is not empty, under other names than these. */
function extraOf(part: Record<string, unknown>, isKept: (name: string) => boolean): JsonObject {
  const kept: JsonObject = {};
  for (const [name, value] of Object.entries(part))
    if (isKept(name) && isFilled(value)) Object.assign(kept, soundField(name, value));
  return kept;
}

function isEmptyList(value: unknown) {
  return Array.isArray(value) && value.length === 0;
}

function isFilled(value: unknown) {
  if (value === undefined || value === null || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function soundField(name: string, value: unknown): JsonObject {
  const field: unknown = { [name]: value };
  return isJsonObject(field) ? field : {};
}

/** Whether the arguments that have come so far are a whole object. */
function isWhole(text: string) {
  return isObject(parseJson(text));
}

/** A scalar as a text. Undefined for anything else. */
function asWord(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** The text in a value: a scalar, an object with its text under one of the usual names, or a list of these. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('');
  if (!isObject(value)) return asWord(value) ?? '';
  return textOf(value['text'] ?? value['value'] ?? value['content'] ?? '');
}

/** Texts that a stream sends in pieces. Other texts, such as signatures and ids, come whole. */
const IN_PIECES = /^(?:text|summary|thinking|content|reasoning\w*|thought)$/;

/** Adds what a later piece of a stream has to what earlier pieces had. */
function mergeExtra(known: JsonObject, more: JsonObject): JsonObject {
  const merged = { ...known };
  for (const [name, value] of Object.entries(more))
    if (value !== null && value !== '') merged[name] = mergedField(name, merged[name], value);
  return merged;
}

function mergedField(name: string, known: Json | undefined, more: Json): Json {
  if (known === undefined) return more;
  if (Array.isArray(known) && Array.isArray(more)) return more.reduce(withItem, known);
  if (isJsonObject(known) && isJsonObject(more)) return mergeExtra(known, more);
  return typeof known === 'string' && typeof more === 'string' && IN_PIECES.test(name) ? known + more : more;
}

/** A list with one more item, which may be the next piece of the last one. */
function withItem(list: Json, item: Json): Json[] {
  const items = Array.isArray(list) ? list : [];
  const last = items.at(-1);
  if (!isJsonObject(last) || !isJsonObject(item) || !isNext(last, item)) return [...items, item];
  return [...items.slice(0, -1), mergeExtra(last, item)];
}

/** Whether an item goes on where the last one ended: of the same kind and place, and the last one is not signed yet. */
function isNext(last: JsonObject, item: JsonObject) {
  const isSame = ['type', 'index'].every((name) => last[name] === item[name]);
  const isOther =
    typeof last['id'] === 'string' && typeof item['id'] === 'string' && last['id'] !== item['id'];
  const isSigned = typeof last['signature'] === 'string' && last['signature'] !== '';
  return isSame && !isOther && (!isSigned || item['index'] !== undefined);
}
