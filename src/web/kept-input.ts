import type { ResolutionKind } from '../contract/decision';
import { isObject, type JsonObject } from '../contract/json';
import type { InboxSession } from '../server/api';
import { type ArgumentsDraft, isChanged } from './model/draft';

/** The input that a person typed at one call and did not send. */
export interface Typed {
  reason: string;
  /** What the model should do instead. */
  suggestion: string;
  /** The arguments while they are changed. */
  args?: TypedArguments;
  /** Ids of the ticked hunks. */
  hunks?: { ticked: readonly string[]; seen: string };
  /** Only for a call in doubt: the chosen answer, the result that the person reports, and how they know. */
  answer?: ResolutionKind;
  /** The start of the call that the answer is about. */
  generation?: number;
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

/** Whose input is kept, and the version of the page: a value of another version may have another shape. */
type Typist = Pick<InboxSession, 'user' | 'version'>;

/** The value that a user left in the storage. Undefined if there is no value. */
export function loadTyped<T extends object>(by: Typist, name: string): T | undefined {
  const key = `${prefixOf(by)}${name}`;
  const text = memory.get(key) ?? storage()?.getItem(key);
  return typeof text === 'string' ? JSON.parse(text) : undefined;
}

/** Keeps a value. Undefined removes it. */
export function keepTyped(by: Typist, name: string, value: object | undefined): void {
  const key = `${prefixOf(by)}${name}`;
  if (value === undefined) return remove(key);
  const text = JSON.stringify(value);
  memory.set(key, text);
  try {
    storage()?.setItem(key, text);
  } catch {
    return;
  }
}

function remove(key: string) {
  memory.delete(key);
  storage()?.removeItem(key);
}

function prefixOf({ user, version }: Typist) {
  return `${PREFIX}${version}/${encodeURIComponent(user)}/`;
}

/** Forgets what all users typed in this tab, except the one that is named. */
export function forgetTyped(except?: Typist): void {
  const kept = storage();
  const stored = Array.from({ length: kept?.length ?? 0 }, (_, index) => kept?.key(index) ?? '');
  for (const key of [...memory.keys(), ...stored]) {
    if (!key.startsWith(PREFIX)) continue;
    if (except === undefined || !key.startsWith(prefixOf(except))) remove(key);
  }
}
