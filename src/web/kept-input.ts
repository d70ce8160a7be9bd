import { type ResolutionKind, RESOLUTIONS } from '../contract/decision';
import { isObject, type JsonObject, parseJson } from '../contract/json';
import { type ArgumentsDraft, isChanged } from './model/draft';

/** The input that a person typed at one call and did not send. */
export interface Typed {
  reason: string;
  /** What the model should do instead. */
  suggestion: string;
  /** The arguments while they are changed. */
  args?: TypedArguments | undefined;
  /** Ids of the ticked hunks. */
  hunks?: { ticked: readonly string[]; seen: string } | undefined;
  /** Only for a call in doubt: the chosen answer, the result that the person reports, and how they know. */
  answer?: ResolutionKind | undefined;
  /** The start of the call that the answer is about. */
  generation?: number | undefined;
  content: string;
  how: string;
}

interface TypedArguments {
  draft: ArgumentsDraft;
  /** The arguments from which the person started. */
  from: JsonObject;
  /** The `seenDigest` of the request that was on the screen. */
  seen: string;
}

export const NOTHING_TYPED: Typed = { reason: '', suggestion: '', content: '', how: '' };

/** The typed words and values that a person would miss if they were lost. Undefined if there are none. */
export function typedParts({ reason, suggestion, args, content, how }: Typed): string | undefined {
  const isEdited = args !== undefined && isChanged(args.draft, args.from);
  const parts = [
    ...[reason, suggestion, how, content].filter((text) => text.trim() !== ''),
    ...(isEdited ? [JSON.stringify(args.draft.value, null, 2)] : []),
    ...(isEdited ? Object.entries(args.draft.texts).map(([path, { text }]) => `${path} ${text}`) : []),
  ];
  return parts.length === 0 ? undefined : parts.join('\n\n');
}

/**
 * Reads typed text that was stored as JSON. Undefined for any other value, such as a value from another version of the
 * page.
 */
export function readTyped(value: unknown): Typed | undefined {
  if (!isObject(value)) return undefined;
  const { reason, suggestion, args, hunks, answer, generation, content, how } = value;
  return {
    reason: keptText(reason),
    suggestion: keptText(suggestion),
    content: keptText(content),
    how: keptText(how),
    args: isTypedArguments(args) ? args : undefined,
    hunks: isHunks(hunks) ? hunks : undefined,
    answer: RESOLUTIONS.find((kind) => kind === answer),
    generation: typeof generation === 'number' ? generation : undefined,
  };
}

/** A value that is a text, or the empty text. */
export function keptText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isTypedArguments(value: unknown): value is TypedArguments {
  if (!isObject(value)) return false;
  return isArgumentsDraft(value['draft']) && isObject(value['from']) && typeof value['seen'] === 'string';
}

/** Whether a value is a draft of arguments. */
export function isArgumentsDraft(value: unknown): value is ArgumentsDraft {
  if (!isObject(value) || !isObject(value['value']) || !isObject(value['texts'])) return false;
  return Object.values(value['texts']).every(
    (one) => isObject(one) && typeof one['text'] === 'string' && typeof one['problem'] === 'string',
  );
}

function isHunks(value: unknown): value is NonNullable<Typed['hunks']> {
  if (!isObject(value) || typeof value['seen'] !== 'string' || !Array.isArray(value['ticked'])) return false;
  return value['ticked'].every((id) => typeof id === 'string');
}

const PREFIX = 'countersign.typed.';

/** Holds values that the tab's storage refuses, until the page is closed. */
const memory = new Map<string, string>();

/** The browser's storage. */
interface TabStorage {
  readonly length: number;
  key(index: number): string | null;
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** The storage for typed text: only in this tab, and as long as the tab is open. */
function storage(): TabStorage | undefined {
  try {
    const found: unknown = Reflect.get(globalThis, 'sessionStorage');
    return isStorage(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isStorage(value: unknown): value is TabStorage {
  return isObject(value) && typeof value['getItem'] === 'function';
}

/** The value that a user left in the storage. Undefined if there is no value. */
export function loadTyped(user: string, name: string): unknown {
  const key = `${prefixOf(user)}${name}`;
  return parseJson(memory.get(key) ?? storage()?.getItem(key) ?? 'null');
}

/** Keeps a value. Undefined removes it. */
export function keepTyped(user: string, name: string, value: unknown): void {
  const key = `${prefixOf(user)}${name}`;
  if (value === undefined) return remove(key);
  const text = JSON.stringify(value);
  memory.set(key, text);
  try {
    storage()?.setItem(key, text);
  } catch {
    return;
  }
}

function remove(key: string): void {
  memory.delete(key);
  storage()?.removeItem(key);
}

function prefixOf(user: string): string {
  return `${PREFIX}${encodeURIComponent(user)}/`;
}

/** Forgets what all users typed in this tab, except the named user. */
export function forgetTyped(except?: string): void {
  const kept = storage();
  const stored = Array.from({ length: kept?.length ?? 0 }, (_, index) => kept?.key(index) ?? '');
  for (const key of [...memory.keys(), ...stored]) {
    if (!key.startsWith(PREFIX)) continue;
    if (except === undefined || !key.startsWith(prefixOf(except))) remove(key);
  }
}
