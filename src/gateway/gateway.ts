import { LRUCache } from 'lru-cache';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../tools/define-config';
import type { CallProgress } from '../contract/call';
import { CountersignError, errorMessage } from '../contract/errors';
import { canonicalJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import { makeFailure, type ToolResult } from '../contract/result';
import { askRules, type RuleOwner } from '../authority/rules/worker-verdict';
import type { CallLog } from '../tools/call-log';
import { runJob } from '../tools/executor';
import { NOTHING_RAN, policyRefusal } from '../tools/function-policy';
import { prepare, type ReadyCall } from '../tools/prepare';
import type { Secrets } from '../tools/secrets';
import type { Tool } from '../tools/types';
import { answerOf, pendingAnswer, textAnswer, WAIT_TOOL } from './answers';
import type { Backend, CallEnd } from './backend';
import type { ClientCall } from './call-id';
import type { GatewayTools } from './tools';

/**
 * How long a call is held from its arrival, in milliseconds, and how many are remembered. Clients give up at different times, which change from month to
 * month.
 */
export const HOLD = {
  /** Every call is answered so soon if it can be. */
  first: 1_000,
  /** A client that hears of progress. Some give up after four minutes, whatever they hear. */
  withProgress: 210_000,
  /** Any other client. Some give up after a minute. */
  without: 45_000,
  progress: 10_000,
  /** The most calls of which it is remembered that somebody has to ask for them later. */
  given: 10_000,
};

/** A call as a client asks for it. */
export interface GatewayCall {
  who: string;
  /** The name under which the tool was offered. */
  name: string;
  arguments: JsonObject;
  key?: readonly string[] | undefined;
  /** Whether the client takes the call as a task. */
  asTask: boolean;
  /** Aborts when the client cancels the call or is gone. */
  signal: AbortSignal;
  /** Tells the client of progress. Absent: the client did not ask for that. */
  onProgress?: ((progress: CallProgress) => void) | undefined;
}

/** The answer to a call, or the id of the task as which the client follows it. */
type GatewayAnswer = { answer: ReturnType<typeof answerOf> } | { task: string };

/** The gate for clients: a call runs here, or is a turn of its own on which people decide. */
export interface Gateway {
  tools: GatewayTools;
  backend: Backend;
  /** Never rejects, unless the signal aborts. */
  call(asked: GatewayCall): Promise<GatewayAnswer>;
  /** Starts a call as a turn, and waits for its end. If that fails, or the signal aborts, an undecided call is withdrawn. */
  decide(call: ClientCall, signal: AbortSignal): Promise<CallEnd>;
  /** Resolves when every call is answered, or withdrawn because its client is gone. */
  settled(): Promise<unknown>;
}

interface GatewayParts {
  tools: GatewayTools;
  backend: Backend;
  config: Config;
  secrets: Secrets;
  log: CallLog;
  /** The rules of the config, which hold for calls without a turn, too. */
  rules: Pick<RuleOwner, 'approvers' | 'rules'>;
  /** Whether safe calls are turns, too. */
  recordsAll: boolean;
  /** @default HOLD */
  hold?: typeof HOLD;
}

/** Makes the gateway of some tools. */
export function createGateway(parts: GatewayParts): Gateway {
  const { tools, backend } = parts;
  const { hold = HOLD } = parts;
  const all: Parts = { ...parts, hold, held: new Map(), given: new LRUCache({ max: hold.given }) };
  const underWay = new Set<Promise<unknown>>();
  const track = <T>(work: Promise<T>): Promise<T> => {
    const over = (): void => void underWay.delete(work);
    underWay.add(work);
    work.then(over, over);
    return work;
  };
  return {
    tools,
    backend,
    call: (asked) => track(answerCall(all, asked)),
    decide: (call, signal) => track(decide(all, call, signal)),
    settled: () => Promise.allSettled(underWay),
  };
}

type Parts = GatewayParts &
  Required<Pick<GatewayParts, 'hold'>> & {
    /** The number of clients that wait for each call, by its id. */
    held: Map<string, number>;
    /** The ids that somebody has to ask with later. Their calls are not withdrawn. */
    given: LRUCache<string, true>;
  };

async function decide(parts: Parts, call: ClientCall, signal: AbortSignal): Promise<CallEnd> {
  let id: string | undefined;
  try {
    ({ id } = await parts.backend.start(call));
    return await parts.backend.end(id, signal);
  } catch (error) {
    const perhaps = id ?? startedPerhaps(error, call);
    if (perhaps === undefined) throw error;
    await withdraw(parts, perhaps, { who: call.who, isThere: id !== undefined });
    // A person may have been quicker. Then the client hears what the record says.
    const late = AbortSignal.timeout(ASKS_WITHIN_MS);
    const end = await parts.backend.end(perhaps, late).catch(() => undefined);
    if (end?.kind !== 'result') throw error;
    return end;
  }
}

/** The id of a call whose start got no answer. A call without the client's id may be that of another client. */
function startedPerhaps(error: unknown, { key }: ClientCall): string | undefined {
  const isLost = error instanceof CountersignError && error.code === 'server_failed';
  const turn = isLost && key !== undefined ? error.data['turn'] : undefined;
  return typeof turn === 'string' ? turn : undefined;
}

/** A call with the time until which it is held, by the clock of `performance`. */
interface HeldCall extends GatewayCall {
  until: number;
}

async function answerCall(parts: Parts, call: GatewayCall): Promise<GatewayAnswer> {
  const { hold: times } = parts;
  const most = call.onProgress === undefined ? times.without : times.withProgress;
  const asked = { ...call, until: performance.now() + most };
  try {
    if (asked.name !== WAIT_TOOL) return await runOrRecord(parts, asked);
    const id = String(asked.arguments['id'] ?? '').slice(0, 100);
    return await orHowToGoOn(id, asked, waitAgain(parts, id, asked));
  } catch (error) {
    if (asked.signal.aborted) throw error;
    return { answer: textAnswer(failureText(error, asked), true) };
  }
}

/** The codes of errors after which it is certain that the server did not take the call. */
const NOT_TAKEN: readonly unknown[] = ['usage', 'no_server', 'server_busy', 'not_ready'];

/** The codes of errors after which a turn that they name may be that of the call. */
const PERHAPS_TAKEN: readonly unknown[] = ['server_failed', 'exists'];

/** A failure as a client reads it: what happened, and what helps. */
function failureText(error: unknown, { key }: GatewayCall) {
  if (!(error instanceof CountersignError)) return `${errorMessage(error)}.`;
  const { code, message, hint, data } = error;
  // Without the client's id, the turn may be that of an earlier call.
  const first = key === undefined ? 'look for it' : `call ${WAIT_TOOL} with the id ${data['turn']}`;
  const perhaps = PERHAPS_TAKEN.includes(code) && data['turn'] !== undefined;
  const ran = perhaps
    ? ` Do not make the call again: ${first}.`
    : NOT_TAKEN.includes(code)
      ? NOTHING_RAN
      : '';
  return `${message}.${ran}${hint === undefined ? '' : ` (${hint})`}`;
}

async function runOrRecord(parts: Parts, asked: HeldCall): Promise<GatewayAnswer> {
  const { tools, recordsAll } = parts;
  const name = tools.nameOf(asked.name);
  if (name === undefined)
    return { answer: textAnswer(`There is no tool ${asked.name.slice(0, 100)}. Nothing ran.`, true) };
  const ready = prepare(tools.agent.registry, name, canonicalJson(asked.arguments));
  if (!ready.ok) return { answer: answerOf(notRun(name, asked, ready.failure)) };
  const here = recordsAll || !runsHere(ready.tool) ? undefined : await runHere(parts, ready, asked);
  return here === undefined ? record(parts, name, asked) : { answer: answerOf(here) };
}

/** Whether calls of a tool need no turn: they have no effect, nobody decides, and they are run in this process. */
function runsHere({ safety, effect, state, taskQueue, child, asks, askMs }: Tool) {
  const isPlain = taskQueue === undefined && child === undefined && asks === undefined && askMs === undefined;
  return safety === 'safe' && effect === 'pure' && state === 'call' && isPlain;
}

/** Runs a call in this process, as a turn would. Undefined: the rules want that a person decides. */
async function runHere(parts: Parts, ready: ReadyCall, asked: GatewayCall) {
  const { tools, config, log, secrets, rules } = parts;
  const { tool, args, value } = ready;
  const owner = { agent: tools.agent.name, policy: tools.agent.policy, log, ...rules };
  const verdict = await askRules(owner, { tool, args, value, requesters: [asked.who] });
  if (verdict.decision === 'ask') return undefined;
  if (verdict.decision === 'refuse') return notRun(tool.name, asked, policyRefusal(verdict, NOTHING_RAN));
  const call = { callId: '1.1', id: 'call_1_1', arguments: args };
  const about = { agent: tools.agent.name, requester: asked.who };
  const { result } = await runJob(
    {
      ...{ tool, value, call, about, approved: false, attempt: 1, signal: asked.signal },
      idempotencyKey: crypto.randomUUID(),
      live: { progress: asked.onProgress },
    },
    { hooks: config.hooks, log, runner: config.runner, secrets },
  );
  return result;
}

function notRun(
  tool: string,
  { arguments: args }: GatewayCall,
  failure: Parameters<typeof makeFailure>[1],
): ToolResult {
  const head = { id: 'call_1_1', callId: '1.1', tool, arguments: args };
  return makeFailure(head, failure, { timestamp: new Date().toISOString() });
}

async function record(parts: Parts, tool: string, asked: HeldCall): Promise<GatewayAnswer> {
  const { who, arguments: args, key } = asked;
  const { id, isNamed } = await parts.backend.start({ who, tool, arguments: args, ...(key && { key }) });
  return orHowToGoOn(id, asked, hold(parts, id, { ...asked, isNamed }));
}

/** The answer to a call that may be on record, or how to get it if the record cannot be read now. */
async function orHowToGoOn(
  id: string,
  { signal }: HeldCall,
  followed: Promise<GatewayAnswer>,
): Promise<GatewayAnswer> {
  try {
    return await followed;
  } catch (error) {
    if (signal.aborted) throw error;
    const how = `Call ${WAIT_TOOL} with the id ${id} to get it; do not make the call again.`;
    return { answer: textAnswer(`The result cannot be read now: ${errorMessage(error)}. ${how}`, true) };
  }
}

async function waitAgain(parts: Parts, id: string, asked: HeldCall): Promise<GatewayAnswer> {
  const state = await parts.backend.stateOf(id, asked.who);
  if (state === undefined) return { answer: textAnswer(`There is no call ${id}.`, true) };
  // A client that only waits takes nothing back.
  return hold(parts, id, { ...asked, isNamed: true });
}

/** Waits for a call as long as its client does, and then says how to get the result. */
async function hold(
  parts: Parts,
  id: string,
  asked: HeldCall & { isNamed: boolean },
): Promise<GatewayAnswer> {
  const { backend, hold: times, held, given } = parts;
  const { signal, asTask, onProgress, isNamed, who, until } = asked;
  const stop = new AbortController();
  const waits = AbortSignal.any([signal, stop.signal]);
  held.set(id, (held.get(id) ?? 0) + 1);
  const end = backend.end(id, waits);
  end.then(() => given.delete(id)).catch(() => undefined);
  const within = (ms: number) => Promise.race([end, delay(Math.max(ms, 0), undefined, { signal: waits })]);
  try {
    const first = await within(times.first);
    if (first !== undefined) return { answer: endAnswer(first) };
    if (asTask) {
      given.set(id, true);
      return { task: id };
    }
    while (performance.now() < until) {
      onProgress?.({ text: 'waits for a person to decide' });
      const found = await within(Math.min(times.progress, until - performance.now()));
      if (found !== undefined) return { answer: endAnswer(found) };
    }
    given.set(id, true);
    return { answer: pendingAnswer(id, (await backend.stateOf(id, who))?.open) };
  } catch (error) {
    const isAlone = held.get(id) === 1 && !given.has(id);
    if (signal.aborted && isAlone && !isNamed && !asTask) await withdraw(parts, id, { who, isThere: true });
    throw error;
  } finally {
    stop.abort();
    const left = (held.get(id) ?? 1) - 1;
    if (left > 0) held.set(id, left);
    else held.delete(id);
  }
}

/** The answer for the end of a call. */
export function endAnswer(end: CallEnd): ReturnType<typeof answerOf> {
  return end.kind === 'result' ? answerOf(end.result) : textAnswer(end.message, true);
}

/** The time that a call gets to ask its person before it is taken back, and the pause between two looks. */
const ASKS_WITHIN_MS = 10_000;
const LOOK_MS = 200;

/**
 * Takes an undecided call back. A call that runs, or is in doubt, goes on. Not `isThere`: nobody knows whether the server
 * took it, so it is looked for until the time is over.
 */
async function withdraw(
  { backend, log }: Parts,
  id: string,
  { who, isThere }: { who: string; isThere: boolean },
) {
  let why: string | undefined;
  for (const until = performance.now() + ASKS_WITHIN_MS; performance.now() < until; await delay(LOOK_MS)) {
    try {
      const state = await backend.stateOf(id, who);
      why = state === undefined && !isThere ? 'it is not on record yet' : undefined;
      if (why !== undefined) continue;
      if (state?.status !== 'working' || state.runs) return;
      if (state.open === undefined) continue;
      const isUndecided = state.open.items.every(({ kind }) => kind === 'request');
      if (!isUndecided) return;
      await backend.cancel(id, 'its client does not wait for it');
      // The worker may be that of this process, which has to see to it before it ends.
      await backend.end(id, AbortSignal.timeout(ASKS_WITHIN_MS)).catch(() => undefined);
      return;
    } catch (error) {
      why = errorMessage(error);
      if (isThere) break;
    }
  }
  if (why !== undefined) log.warn(`${id} could not be withdrawn: ${why}`);
}
