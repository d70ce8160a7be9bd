import type { Client, ConnectionLike } from '@temporalio/client';
import type { HistorySource } from '../history/read';
import { toCountersignError } from '../history/server-errors';

/** What every operation of the client works with. */
export interface Desk {
  client: Client;
  /** Lists turns: what cannot be decoded of one must not hide the others. */
  lister: Client;
  connection: ConnectionLike;
  namespace: string;
  source: HistorySource;
  /** How long `start` waits for missing search attributes, in milliseconds. */
  readyMs: number;
}

/** How long one question to the server may take, in milliseconds. */
const ASK_MS = 10_000;

/** Asks the server one thing; what fails is a CountersignError that names `what` was tried. */
export async function ask<T>(desk: Desk, what: string, question: () => Promise<T>): Promise<T> {
  try {
    return await desk.connection.withDeadline(Date.now() + ASK_MS, question);
  } catch (error) {
    throw toCountersignError(error, what);
  }
}
