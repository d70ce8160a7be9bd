import { createView, type Countersign, type TurnView } from '../client';
import { CountersignError } from '../contract/errors';
import type { RequestOpened } from '../history/events';

/** How long to wait, and for what. */
export interface WaitOptions {
  /** Only a request of this tool. */
  tool?: string;
  /** Milliseconds. @default 30000 */
  timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;

/**
 * Waits until a turn, or a workflow that gates calls, asks for a decision, and returns the first request that is open.
 *
 * @throws CountersignError `call_not_found` if it ends without asking, `still_waiting` after the time.
 */
export async function waitForRequest(
  client: Countersign,
  turn: string,
  { tool, timeoutMs = TIMEOUT_MS }: WaitOptions = {},
): Promise<RequestOpened> {
  const wanted = (view: TurnView): RequestOpened | undefined =>
    view.requests.find((request) => tool === undefined || request.tool === tool);
  const view = await watch(client, turn, { timeoutMs, isThere: (now) => wanted(now) !== undefined });
  const request = wanted(view);
  if (request !== undefined) return request;
  const what = tool === undefined ? 'a request' : `a request of ${tool}`;
  throw view.endedAt === null ? late(view, what, timeoutMs) : endedWithout(view, what);
}

/**
 * Waits until a turn has ended, in whatever way, and returns all that is on record of it.
 *
 * @throws CountersignError `still_waiting` after the time, naming what it waits for.
 */
export async function waitForEnd(
  client: Countersign,
  turn: string,
  { timeoutMs = TIMEOUT_MS }: Pick<WaitOptions, 'timeoutMs'> = {},
): Promise<TurnView> {
  const view = await watch(client, turn, { timeoutMs, isThere: (now) => now.endedAt !== null });
  if (view.endedAt === null) throw late(view, 'its end', timeoutMs);
  return view;
}

interface Watch {
  timeoutMs: number;
  isThere: (view: TurnView) => boolean;
}

/** What is past already is not looked at one by one: a request that was open once may be decided by now. */
async function watch(client: Countersign, turn: string, { timeoutMs, isThere }: Watch): Promise<TurnView> {
  const past = (await client.timeline(turn)).length;
  const view = createView();
  let seen = 0;
  for await (const event of client.follow(turn, { signal: AbortSignal.timeout(timeoutMs) })) {
    view.push(event);
    seen += 1;
    if (seen >= past && isThere(view.current())) return view.current();
  }
  // The time was short, or the turn is over: what is on record now says more than what was seen in time.
  return client.view(turn);
}

function endedWithout({ turn, status, answer, error }: TurnView, what: string): CountersignError {
  const said = answer ?? error?.message ?? '';
  return new CountersignError('call_not_found', `turn ${turn} ended (${status}) without ${what}: ${said}`, {
    hint: 'Look at its timeline: was the call refused, or never made?',
  });
}

function late({ turn, status, calls }: TurnView, what: string, timeoutMs: number): CountersignError {
  const phases = calls.map(({ callId, tool, phase }) => `${callId} ${tool} is ${phase}`).join(', ');
  const message = `turn ${turn} is ${status}; waited ${timeoutMs} ms for ${what}. ${phases || 'No calls yet'}.`;
  return new CountersignError('still_waiting', message, {
    hint: 'Is something else open, or is a worker missing?',
  });
}
