import { setTimeout as delay } from 'node:timers/promises';
import {
  CancelledFailure,
  TerminatedFailure,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
} from '@temporalio/client';
import type { Countersign } from '../client';
import { CountersignError, errorMessage } from '../contract/errors';
import { isObject } from '../contract/json';
import { ACTIVITIES, MEMO, WORKFLOWS } from '../contract/names';
import type { ToolResult } from '../contract/result';
import { argumentsSummary } from '../contract/text/call-summary';
import { type CallMemo, type OpenMemo, startOf, type TurnInput, type TurnResult } from '../contract/turn';
import { is } from '../history/fold/guards';
import {
  isAnswerLost,
  isNotFound,
  isNotReady,
  isTransient,
  retry,
  toCountersignError,
  unlessNotFound,
} from '../history/server-errors';
import type { TaskState } from './answers';
import { type CallPlace, type ClientCall, placeOfCall } from './call-id';

/** A connection to Temporal with the worker of the gateway. */
export interface Link {
  client: Countersign;
  /** Rejects or resolves when the connection or its worker is lost. */
  lost: Promise<unknown>;
  close(): Promise<void>;
}

/** How a call ended. `failed` and `cancelled`: there is no result of its tool. */
export type CallEnd =
  | { kind: 'result'; result: ToolResult }
  | { kind: 'cancelled'; message: string }
  | { kind: 'failed'; message: string };

/** The durable side of a gateway: every call in it is a turn. */
export interface Backend {
  /**
   * Starts the turn of a call, or finds the turn that the call has already.
   *
   * @throws CountersignError `no_server` and the like; `exists` if the client's id is of another call.
   */
  start(call: ClientCall): Promise<CallPlace>;
  /** Waits for the end of a call. Rejects when the signal aborts. */
  end(turn: string, signal: AbortSignal): Promise<CallEnd>;
  /** The state of a call of this person. Undefined: this person has no such call. */
  stateOf(turn: string, who: string): Promise<TaskState | undefined>;
  cancel(turn: string, reason: string): Promise<void>;
  close(): Promise<void>;
}

/** What a backend works with. */
interface BackendParts {
  agent: string;
  taskQueue: string;
  open(): Promise<Link>;
  warn(line: string): void;
}

const AGAIN_MS = 2_000;
const READY_MS = 30_000;

/**
 * Connects in the background, and again whenever the connection or the worker is lost. A call that comes before the first
 * attempt has ended waits for it.
 */
export function openBackend(parts: BackendParts): Backend {
  const stop = new AbortController();
  const keeping = keepOpen(parts, stop.signal);
  const { link } = keeping;
  return {
    start: async (call) => startCall((await link()).client, call, parts),
    end: async (turn, signal) => {
      for (;;) {
        try {
          const { client } = await link();
          return await client.client.withAbortSignal(signal, () => endOf(client, turn));
        } catch (error) {
          if (signal.aborted || stop.signal.aborted) throw error;
          if (!isTransient(error) && !(error instanceof CountersignError)) throw error;
          await delay(AGAIN_MS, undefined, { signal });
        }
      }
    },
    stateOf: async (turn, who) => stateOf((await link()).client, turn, who),
    cancel: async (turn, reason) => (await link()).client.cancel(turn, reason),
    close: async () => {
      stop.abort();
      await keeping.over;
    },
  };
}

function keepOpen(
  { open, warn }: BackendParts,
  signal: AbortSignal,
): { link(): Promise<Link>; over: Promise<void> } {
  let current: Link | undefined;
  let why: unknown;
  let tried: () => void = () => undefined;
  const firstTry = new Promise<void>((resolve) => (tried = resolve));
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        current = await open();
        tried();
        await Promise.race([stopped, current.lost]);
        if (!signal.aborted) throw new CountersignError('no_server', 'the connection to Temporal is lost');
      } catch (error) {
        if (errorMessage(error) !== errorMessage(why))
          warn(`calls that need a record fail: ${errorMessage(error)}`);
        why = error;
        tried();
      }
      const last = current;
      current = undefined;
      await last?.close().catch(() => undefined);
      await Promise.race([stopped, delay(AGAIN_MS, undefined, { ref: false })]);
    }
  };
  return {
    link: async () => {
      await firstTry;
      if (current !== undefined) return current;
      throw toCountersignError(why, 'reaching Temporal');
    },
    over: keep(),
  };
}

async function startCall(
  client: Countersign,
  asked: ClientCall,
  { agent, taskQueue }: Pick<BackendParts, 'agent' | 'taskQueue'>,
): Promise<CallPlace> {
  const place = placeOfCall(asked);
  const { turn, call, isNamed } = place;
  const prompt = `${asked.tool} ${argumentsSummary(asked.arguments)}`.trim();
  const input: TurnInput = { agent, prompt, origin: { requester: asked.who }, call };
  const start = () =>
    client.client.workflow.start(WORKFLOWS.turn, {
      args: [input],
      workflowId: turn,
      taskQueue,
      ...startOf(input, prompt),
      workflowIdReusePolicy: isNamed ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: isNamed ? 'FAIL' : 'USE_EXISTING',
    });
  try {
    // A call without a name may have ended already, and a second start would run it again.
    const passes = (error: unknown) => isNotReady(error) || (isNamed && isTransient(error));
    await retry({ passes, forMs: READY_MS }, start);
  } catch (error) {
    if (isAnswerLost(error)) throw maybeStarted(turn, error);
    if (!(error instanceof WorkflowExecutionAlreadyStartedError))
      throw toCountersignError(error, 'recording the call');
    const { memo } = (await describe(client, turn)) ?? {};
    if (memo?.digest !== place.memo.digest) throw otherCall();
  }
  return place;
}

function maybeStarted(turn: string, cause: unknown): CountersignError {
  const message = 'the server did not say whether the call was recorded; it may run';
  return new CountersignError('server_failed', message, { hint: `countersign show ${turn} tells`, cause });
}

function otherCall(): CountersignError {
  return new CountersignError(
    'exists',
    'this id was given for another tool or other arguments; nothing ran',
    'give each call an id of its own',
  );
}

/** What the server says of a turn that was started with its call. Undefined if there is none. */
async function describe(client: Countersign, turn: string) {
  const found = await unlessNotFound(client.client.workflow.getHandle(turn).describe());
  const memo = found?.memo?.[MEMO.call];
  if (found === undefined || !isCallMemo(memo)) return undefined;
  const open = found.memo?.[MEMO.open];
  return { found, memo, open: is.openMemo(open) ? open : undefined };
}

function isCallMemo(value: unknown): value is CallMemo {
  return isObject(value) && typeof value['by'] === 'string' && typeof value['digest'] === 'string';
}

const STATUSES: Readonly<Record<string, TaskState['status']>> = {
  RUNNING: 'working',
  CONTINUED_AS_NEW: 'working',
  COMPLETED: 'completed',
  CANCELLED: 'cancelled',
};

async function stateOf(client: Countersign, turn: string, who: string): Promise<TaskState | undefined> {
  const known = await describe(client, turn);
  // Another person's call looks like one that does not exist.
  if (known === undefined || known.memo.by !== who) return undefined;
  const { found, memo, open } = known;
  const createdAt = found.startTime.toISOString();
  return {
    turn,
    by: memo.by,
    status: STATUSES[found.status.name] ?? 'failed',
    createdAt,
    lastUpdatedAt: found.closeTime?.toISOString() ?? createdAt,
    runs: (found.raw.pendingActivities ?? []).some(({ activityType }) => isTool(activityType?.name)),
    open: openIn(open),
  };
}

function isTool(activity: string | null | undefined): boolean {
  return activity != null && !Object.values<string>(ACTIVITIES).includes(activity);
}

function openIn(open: OpenMemo | undefined): OpenMemo | undefined {
  return open !== undefined && open.count > 0 ? open : undefined;
}

async function endOf(client: Countersign, turn: string): Promise<CallEnd> {
  try {
    const ended: Partial<TurnResult> = await client.client.workflow.getHandle(turn).result();
    const { result } = ended;
    if (is.turnResult(ended) && result !== undefined) return { kind: 'result', result };
    return { kind: 'failed', message: 'the record of this call cannot be read' };
  } catch (error) {
    if (isNotFound(error)) return { kind: 'failed', message: 'the record of this call is gone' };
    if (!(error instanceof WorkflowFailedError)) throw error;
    if (error.cause instanceof CancelledFailure)
      return { kind: 'cancelled', message: 'The call was cancelled. See its record for what had run.' };
    const ended = error.cause instanceof TerminatedFailure ? 'was ended by an operator' : 'failed';
    return { kind: 'failed', message: `the turn of this call ${ended}: ${errorMessage(error.cause)}` };
  }
}
