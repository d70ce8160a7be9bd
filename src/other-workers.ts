import type { ConnectionLike } from '@temporalio/client';
import { workersOf } from './client/pollers';
import { toolSetIn } from './contract/worker-tools';
import { escapeHidden } from './contract/text/unsafe-text';

/** A worker that starts on a queue. */
export interface StartingWorker {
  queue: string;
  identity: string;
  /** It takes turns from the queue too, not only calls. */
  isMain: boolean;
}

/** Where the workers are, and where warnings about them go. */
export interface WarningOptions {
  connection: ConnectionLike;
  namespace: string;
  warn(line: string): void;
}

/** A worker does not wait long for a mere warning. */
const ASK_MS = 2_000;

/** How many workers a warning names. */
const MOST_NAMED = 3;

/**
 * Warns where a queue has workers with other agents or tools: a task may go to either, and the wrong one costs time. It is
 * only a warning, so a worker starts even when the server cannot answer.
 */
export async function warnOfOtherWorkers(
  starting: readonly StartingWorker[],
  { connection, namespace, warn }: WarningOptions,
): Promise<void> {
  const lines = starting.map(async ({ queue, identity, isMain }) => {
    try {
      const half = isMain ? 'turns' : 'activities';
      const there = await connection.withDeadline(Date.now() + ASK_MS, () =>
        workersOf(connection, namespace, { name: queue, half }),
      );
      const set = toolSetIn(identity);
      const others = there.flatMap((one) => (toolSetIn(one.identity) === set ? [] : one.identity));
      return lineOf(queue, others);
    } catch (error) {
      return `the other workers of queue ${shown(queue)} could not be listed: ${shown(String(error))}`;
    }
  });
  for (const line of await Promise.all(lines)) if (line !== undefined) warn(line);
}

function lineOf(queue: string, others: readonly string[]): string | undefined {
  if (others.length === 0) return undefined;
  const named = others.slice(0, MOST_NAMED).map(shown).join(', ');
  const more = others.length > MOST_NAMED ? ` and ${others.length - MOST_NAMED} more` : '';
  return (
    `queue ${shown(queue)} has workers with other agents or tools: ${named}${more}. ` +
    'That is fine during a deploy; unrelated agents need queues of their own.'
  );
}

/** Any poller can choose its own name, so it is escaped. */
function shown(name: string): string {
  return escapeHidden(JSON.stringify(name.slice(0, 200)));
}
