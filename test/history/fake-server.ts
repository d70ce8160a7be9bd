import type { ConnectionLike } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import type { HistoryEvent } from '../../src/history/decode/decode';
import type { HistoryServer } from '../../src/history/read-run';

/** What the fake server does with one question for history: gives events, or fails with a gRPC status. */
export type Reply =
  { events: (number | HistoryEvent)[]; more: boolean } | { status: number; details?: string };

/** What it was asked. */
export interface Asked {
  token: string;
  live: boolean;
  size: number;
}

/**
 * A server that answers from a script; only for what a real one cannot be made to do at will. `length`: how many events
 * it says there are.
 */
export function fakeServer(replies: Reply[], length = 0): { server: HistoryServer; asked: Asked[] } {
  const asked: Asked[] = [];
  const getWorkflowExecutionHistory = async (request: {
    nextPageToken: Uint8Array;
    waitNewEvent: boolean;
    maximumPageSize: number;
  }) => {
    const { nextPageToken: token, waitNewEvent: live, maximumPageSize: size } = request;
    asked.push({ token: Buffer.from(token).toString(), live, size });
    const reply = replies.shift() ?? { events: [], more: false };
    if ('status' in reply) throw grpcError(reply.status, reply.details);
    const nextPageToken = Buffer.from(reply.more ? `token${asked.length}` : '');
    return { history: { events: reply.events.map(eventOf) }, nextPageToken };
  };
  const through = async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act();
  const connection = {
    workflowService: {
      getWorkflowExecutionHistory,
      describeWorkflowExecution: async () => ({ workflowExecutionInfo: { historyLength: length } }),
    },
    withDeadline: through,
    withAbortSignal: through,
  };
  return { server: { connection: connection as unknown as ConnectionLike, namespace: 'default' }, asked };
}

/** Live reading waits for a sign before it reads: the server gives each answer with events twice then. */
export const withSigns = (replies: Reply[]): Reply[] =>
  replies.flatMap((reply) => ('events' in reply && reply.events.length > 0 ? [reply, reply] : [reply]));

/** An error as the gRPC library throws it. */
export function grpcError(code: number, details = 'details'): Error {
  return Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} });
}

function eventOf(event: number | HistoryEvent): HistoryEvent {
  return typeof event === 'number'
    ? temporal.api.history.v1.HistoryEvent.fromObject({ eventId: event })
    : event;
}
