import type { CallInput, CallSettings, InvalidCall, ValidCall } from './call';
import { defined } from './defined';
import { canonicalJson, digestJson } from './digest';
import { isObject, type JsonObject, parseJson } from './json';
import { isPrepareOutput, SPENT_IDS } from './call-payloads';
import type { ResultContent } from './result';
import { guard } from './schema/message';
import { integer, object, type Of } from './schema/shape';
import type { PrepareInput } from './think';
import type { Effect, JsonSchema } from './tool';

/** What a workflow bundle knows of an activity, or of a child workflow, about whose calls people are asked. */
export interface GateName {
  /** See the option of the plugin. */
  caller: 'code' | 'model';
  args?: readonly string[];
  from?: { tool: string; arguments: string };
}

/**
 * The header of an activity that a gate lets run. It holds a GateHeader, and in a run that continues another one what
 * the gate of that run left.
 */
export const GATE_HEADER = 'countersign-gate';

/** Types of failures: the bundle of a workflow that asks has no gate, and nothing shows that a gate let a call run. */
export const GATE_FAILURES = {
  missing: 'countersign.gate_missing',
  refused: 'countersign.gate_refused',
} as const;

/** The gated activities by type, and the gated child workflows by `childName`. */
export type GateNames = Readonly<Record<string, GateName>>;

/** The name under which a child workflow is gated. */
export const childName = (type: string): string => `child:${type}`;

/**
 * The mark of a workflow bundle in which calls with these names ask. The mark is in the code of the bundle. A worker
 * takes only a bundle with the mark of its own names.
 */
export function gateMark(names: GateNames): string {
  const known = Object.entries(names).map(([name, { caller, args = null, from }]) => {
    return [name, caller, args, from?.tool ?? null, from?.arguments ?? null];
  });
  return `countersign-gate:${digestJson(known.sort(([one], [other]) => String(one).localeCompare(String(other))))}`;
}

/** Input of `countersign.gate`: one call of a user's own workflow, before people are asked about it. */
export interface GateInput extends Pick<PrepareInput, 'callId' | 'raw' | 'askedAgain'> {
  /** The name under which the call is gated. Absent: `createGate` asks. */
  gated?: string;
  /** The tool. Absent: the options of the worker name it. */
  tool?: string;
  settings: GateSettings;
  /** What the code of the workflow says of the tool. The options of the worker have precedence. */
  given?: GivenTool;
}

/** The settings of a call that only its workflow knows. */
export interface GateSettings
  extends
    Partial<Pick<CallSettings, 'timeoutMs' | 'heartbeatMs' | 'startWithinMs' | 'retry' | 'taskQueue'>>,
    Required<Pick<CallSettings, 'gate'>> {}

/** A tool as the code of a workflow describes it. */
export interface GivenTool {
  /** Absent: people cannot change the arguments. */
  schema?: JsonSchema;
  effect?: Effect;
  preview?: string;
  /** Why a person is asked. */
  reason?: string;
  /** Null: the request never expires. */
  requestExpiresMs?: number | null;
  noBatch?: boolean;
}

/** The header of a gated activity: the call as which it runs. The activity itself has the arguments. */
export interface GateHeader extends Omit<CallInput, 'arguments' | 'proposed'> {
  /** See `GateInput`. */
  gated?: string;
  /** `gate.run` adds the idempotency key to the arguments. */
  hasKey?: true;
}

/** The names of which `snake_case` keeps every letter. */
const SHOWN_NAME = /^[a-z][\w./ -]{0,63}$/i;

/** The arguments of a gated call as one value, and the tool if they name it. A text: why there are none. */
export function argumentsIn(
  { args: names, from }: Partial<GateName>,
  given: readonly unknown[],
): { args: unknown; tool?: string } | string {
  if (names !== undefined)
    return given.length > names.length
      ? `it has ${given.length} arguments, and \`args\` names ${names.length}`
      : { args: Object.fromEntries(names.map((name, at) => [name, given[at]])) };
  const [first = {}, ...rest] = given;
  if (rest.some((value) => value !== undefined))
    return `it has ${given.length} arguments, and people would see one: name them all in \`args\``;
  if (from === undefined) return { args: first };
  const { [from.tool]: tool, [from.arguments]: args = {} } = isObject(first) ? first : {};
  return typeof tool === 'string' && SHOWN_NAME.test(tool)
    ? { args, tool }
    : `its argument has no name of a tool in \`${from.tool}\` that people can be shown`;
}

/**
 * The arguments as the JSON that people are shown. Undefined if JSON has no form for a part of them: people would be
 * shown less than what runs, such as `{}` for a Map.
 */
export function shownJson(args: unknown): string | undefined {
  const kept = (_key: string, value: unknown) => {
    const kind = Object.prototype.toString.call(value);
    if (isObject(value) && !['[object Object]', '[object Array]'].includes(kind)) throw new TypeError(kind);
    return value;
  };
  try {
    return JSON.stringify(args, kept) ?? '';
  } catch {
    return undefined;
  }
}

/** What a run of a workflow has used up of what the server gives it. */
interface UsedOfRun {
  historyLength: number;
  historySize: number;
  updates: number;
  open: number;
}

/**
 * Why a run takes no more calls. Undefined: it does. A server ends a run with 51,200 events or 50 MB without a word to
 * its code, and takes 2,000 updates for one run. A call needs some 25 events and a decision.
 */
export function whyRunIsFull({ historyLength, historySize, updates, open }: UsedOfRun): string | undefined {
  const used =
    historyLength + 25 * open > 48_000
      ? `has ${historyLength} events and ${open} open calls, of 51,200 events`
      : historySize > 45e6
        ? `has ${Math.floor(historySize / 1e6)} MB, of 50`
        : updates + open > 1950
          ? `has taken ${updates} messages and has ${open} open calls, of 2,000 messages`
          : undefined;
  return used && `this run ${used} that the server takes; continue as new before the call`;
}

/**
 * The arguments to run with: as the workflow gave them, unless people were shown others. A person may have changed them,
 * and so may the workflow, which has the same objects while it waits.
 */
export function argumentsToRun(
  name: Partial<GateName>,
  given: readonly unknown[],
  { args, tool }: { args: JsonObject; tool?: string | undefined },
): unknown[] {
  const now = argumentsIn(name, given);
  const read =
    typeof now === 'string' || now.tool !== tool ? undefined : parseJson(shownJson(now.args) ?? '');
  if (read !== undefined && canonicalJson(read) === canonicalJson(args)) return [...given];
  const { args: names, from } = name;
  if (names !== undefined) return names.map((one) => args[one]);
  const [first, ...rest] = given;
  const others = isObject(first) ? first : {};
  return [from === undefined ? args : { ...others, [from.tool]: tool, [from.arguments]: args }, ...rest];
}

/** Reads a call of a user's own workflow as a worker prepared it. Undefined if it cannot be read, or is another call. */
export function readGateOutput(
  value: unknown,
  callId: string,
): { call: ValidCall | InvalidCall; schema?: JsonObject } | undefined {
  if (!isPrepareOutput(value) || value.call.callId !== callId) return undefined;
  const { call, schema } = value;
  return call.kind === 'remote' || call.kind === 'recorded' ? undefined : { call, ...defined({ schema }) };
}

/**
 * The state that a gate passes to the next run, so that decisions that were spent stay spent. It is JSON of a few KiB.
 */
const CARRIED_GATE = object({ asked: integer({ minimum: 0 }), spent: SPENT_IDS });
export interface CarriedGate extends Of<typeof CARRIED_GATE> {}

/** Whether a value is what a gate passes to the next run. Anybody may start a workflow with any header. */
export const isCarriedGate = guard(CARRIED_GATE);

/** The return value of the user's own activity, as the content of a result. */
export function contentOfReturn(value: unknown): ResultContent {
  if (value === undefined) return { content: '', contentType: 'text' };
  if (typeof value === 'string') return { content: value, contentType: 'text' };
  return { content: JSON.stringify(value), contentType: 'json' };
}
