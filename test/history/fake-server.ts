import type { ConnectionLike } from '@temporalio/client';
import type { HistoryEvent } from '../../src/history/decode';
import type { HistoryServer } from '../../src/history/read-run';

/** What the fake server does with one question for history: gives events, or fails with a gRPC status. */
export type Reply = { events: number[]; more: boolean } | { status: number; details?: string };

/** What it was asked. */
export interface Asked {
  token: string;
  live: boolean;
}

/** A server that answers from a script; only for what a real one cannot be made to do at will. */
export function fakeServer(replies: Reply[]): { server: HistoryServer; asked: Asked[] } {
  const asked: Asked[] = [];
  const getWorkflowExecutionHistory = async (request: {
    nextPageToken: Uint8Array;
    waitNewEvent: boolean;
  }) => {
    asked.push({ token: Buffer.from(request.nextPageToken).toString(), live: request.waitNewEvent });
    const reply = replies.shift() ?? { events: [], more: false };
    if ('status' in reply) throw grpcError(reply.status, reply.details);
    const nextPageToken = Buffer.from(reply.more ? `token${asked.length}` : '');
    return { history: { events: reply.events.map(eventOf) }, nextPageToken };
  };
  const through = async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act();
  const connection = {
    workflowService: { getWorkflowExecutionHistory },
    withDeadline: through,
    withAbortSignal: through,
  };
  return { server: { connection: connection as unknown as ConnectionLike, namespace: 'default' }, asked };
}

/** An error as the gRPC library throws it. */
export function grpcError(code: number, details = 'details'): Error {
  return Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} });
}

function eventOf(eventId: number): HistoryEvent {
  return { eventId: { toNumber: () => eventId } } as unknown as HistoryEvent;
}
