import { digestJson, canonicalJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import { callMemoOf, type CallMemo, type GivenCall } from '../contract/turn';

/** A call of a client of the gateway. */
export interface ClientCall {
  /** Who asks for it. */
  who: string;
  tool: string;
  arguments: JsonObject;
  /** The client's own id of the call, and what it is an id of. Absent: the client gives none. */
  key?: readonly string[];
}

/** Where a call is on record: the turn, its input, and the memo by which the turn is known. */
export interface CallPlace {
  turn: string;
  call: GivenCall;
  memo: CallMemo;
  /** Whether the client named the call, so that the turn is for this one call for good. */
  isNamed: boolean;
}

/** Who runs the calls of a gateway. */
interface Place {
  agent: string;
  taskQueue: string;
}

interface Machine {
  user: string;
  host: string;
}

const ID_CHARACTERS = 32;

/**
 * Names a call to its client. The turn of a call without the client's id is that of later calls, too, so the run belongs
 * to the name.
 */
export function callName({ turn, isNamed }: Pick<CallPlace, 'turn' | 'isNamed'>, run: string): string {
  return isNamed ? turn : `${turn}~${run}`;
}

const NAME = new RegExp(
  `^(gateway-[0-9a-f]{${ID_CHARACTERS}})(?:~([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?$`,
);

/** The turn and the run that a name stands for. No turn: the text is another name. */
export function readCallName(name: string): { turn?: string | undefined; run?: string | undefined } {
  const [, turn, run] = NAME.exec(name) ?? [];
  return { turn, run };
}

/**
 * Where a call is on record. The same id of one person is the same turn, whatever connection it comes from. Without an id,
 * a call with the same tool and arguments joins the turn of an earlier one of the same gateway while that is open.
 */
export function placeOfCall({ who, tool, arguments: args, key }: ClientCall, at: Place): CallPlace {
  const call = { tool, raw: canonicalJson(args) };
  const isNamed = key !== undefined;
  const named = isNamed ? ['key', who, ...key] : ['call', who, at.agent, at.taskQueue, call.tool, call.raw];
  const turn = `gateway-${digestJson(named).slice(0, ID_CHARACTERS)}`;
  return { turn, call, memo: callMemoOf(call, who), isNamed };
}

/** The names under which a request carries the client's id of its call. */
const KEYS = ['claudecode/toolUseId', 'io.countersign/key'];

/** The client's id of a call. Undefined if the request has none. */
export function keyIn(meta: Readonly<Record<string, unknown>> = {}): readonly string[] | undefined {
  const name = KEYS.find((one) => typeof meta[one] === 'string' && meta[one] !== '');
  return name === undefined ? undefined : ['mcp', String(meta[name])];
}

/**
 * The task queue of the gateways of one config file and one user of a machine, because calls run with that user's rights.
 * `what`: the server or agent that they are for.
 */
export function gatewayQueue(file: string, what: string, { user, host }: Machine): string {
  return `gateway-${digestJson([file, what, user]).slice(0, 12)}@${host}`;
}
