import { type HistorySource, nextRun, readChain, type ReadOptions } from '../read';
import { readRun } from '../read-run';
import { createSessionFold, type SessionEvent } from './events';

/**
 * The events of a session, through all its runs.
 *
 * @throws CountersignError as `readTurn`.
 */
export async function* readSession(
  source: HistorySource,
  session: string,
  { live = false, signal = new AbortController().signal, onCaughtUp }: ReadOptions = {},
): AsyncGenerator<SessionEvent> {
  const owner = { type: 'workflow', namespace: source.namespace, workflowId: session } as const;
  const fold = createSessionFold();
  const runs = await readChain(source, session);
  for (let runId = runs.shift(); runId !== undefined;) {
    let next: string | undefined;
    const caughtUp = runs.length === 0 ? onCaughtUp : undefined;
    const run = { turn: session, runId, live, signal, onCaughtUp: caughtUp };
    for await (const raw of readRun(source, run)) {
      const event = await source.decode(raw, owner);
      next = (await nextRun(source, { turn: session, runId, event }))?.runId ?? next;
      const made = fold(event);
      if (made !== undefined && !(made.type === 'session_ended' && next !== undefined)) yield made;
    }
    if (signal.aborted) return;
    runId = next;
  }
}
