import type { Client } from '@temporalio/client';
import type { Countersign } from '../../lib/client';
import type { Cluster } from './cluster';
import type { Crew } from './crew';
import type { Ledger } from './ledger';

export const SCALE_QUEUE = 'bench-scale';

/** Decisions one after the other. */
export const DECISIONS = 40;
/** Decisions that are sent while no worker runs. */
export const WHILE_DOWN = 20;

/** What the phases of one size work on. */
export interface Scale {
  size: number;
  cluster: Cluster;
  client: Client;
  countersign: Countersign;
  ledger: Ledger;
  crew: Crew;
  /** Turns that wait, which nobody has decided on. */
  waiting: string[];
  /** Keys of decided calls. */
  decided: Set<string>;
  say(line: string): void;
}

const POLL_MS = 250;
const SAY_MS = 5_000;
/** Longer than any worker takes for one step: nothing more will come. */
const STALLED_MS = 180_000;

/** Waits until so many workflows are listed by a query. @throws Error where none is added or goes away for three minutes. */
export async function untilCount(
  { client, say }: Pick<Scale, 'client' | 'say'>,
  query: string,
  { what, isDone }: { what: string; isDone(count: number): boolean },
): Promise<void> {
  let [last, changedAt, saidAt] = [-1, Date.now(), Date.now()];
  for (;;) {
    const { count } = await client.workflow.count(query);
    if (isDone(count)) return;
    const now = Date.now();
    if (count !== last) [last, changedAt] = [count, now];
    if (now - changedAt > STALLED_MS) throw new Error(`${what}: it stays at ${count}`);
    if (now - saidAt > SAY_MS) {
      saidAt = now;
      say(`${what}: ${count}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export const WAITING = `CountersignState = 'waiting'`;
/** Turns that have not ended. */
export const TURNS = `ExecutionStatus = 'Running' AND WorkflowType = 'agentTurn'`;

/** The number that such a share of some numbers is not above. */
export function percentile(numbers: readonly number[], share: number): number {
  return [...numbers].sort((a, b) => a - b)[Math.ceil(numbers.length * share) - 1] ?? NaN;
}

/** Approves the only call of a turn; from then on its effect has to happen once. */
export async function approve({ countersign, decided }: Scale, turn: string): Promise<void> {
  decided.add(turn);
  await countersign.decide(turn, { callId: '1.1', decision: 'approved' });
}

/** When the effect of a decided call has happened. @throws Error that says how the turn is where it has none. */
export async function effectOf({ countersign, ledger }: Scale, turn: string): Promise<void> {
  try {
    await ledger.until(turn);
  } catch (cause) {
    const { status, calls } = await countersign.view(turn);
    const phases = calls.map(({ phase }) => phase).join(', ');
    throw new Error(`${String(cause)}; the turn is ${status}, and its call ${phases}`, { cause });
  }
}

/** Takes turns out of those that wait, from all over them: some are in a worker's memory and some are not. */
export function take({ waiting }: Pick<Scale, 'waiting'>, count: number): string[] {
  const every = Math.floor(waiting.length / count);
  return Array.from({ length: count }, (_, index) => waiting.splice((count - 1 - index) * every, 1)).flat();
}
