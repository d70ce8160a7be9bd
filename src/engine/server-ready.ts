import { Connection } from '@temporalio/client';
import { setTimeout as delay } from 'node:timers/promises';
import { SEARCH_ATTRIBUTES } from '../contract/names';
import { describeError } from './run';

/** What to wait for. */
export interface ReadyOptions {
  address: string;
  namespace: string;
  /** Milliseconds. */
  timeoutMs: number;
  /** Ends the wait early when it resolves: the server died. */
  gone?: Promise<unknown>;
}

/** Resolved: usable. Otherwise the last reason why not; empty when the server went away. */
export type Readiness = { ready: true } | { ready: false; why: string };

const POLL_MS = 50;
const CONNECT_MS = 2_000;

/** Waits until the frontend answers, the namespace exists and our search attributes can be queried. */
export const waitUntilReady = async ({
  address,
  namespace,
  timeoutMs,
  gone,
}: ReadyOptions): Promise<Readiness> => {
  const until = Date.now() + timeoutMs;
  let isGone = false;
  void gone?.then(() => (isGone = true));
  let why = 'it did not answer';
  while (Date.now() < until && !isGone) {
    try {
      await ask(address, namespace);
      return { ready: true };
    } catch (error) {
      why = describeError(error);
    }
    await delay(POLL_MS);
  }
  return { ready: false, why: isGone ? '' : why };
};

const ask = async (address: string, namespace: string): Promise<void> => {
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_MS });
  try {
    const { workflowService } = connection;
    await workflowService.describeNamespace({ namespace });
    const query = Object.values(SEARCH_ATTRIBUTES)
      .map((name) => `${name} IS NULL`)
      .join(' AND ');
    await workflowService.countWorkflowExecutions({ namespace, query });
  } finally {
    await connection.close();
  }
};
