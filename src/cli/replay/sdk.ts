import { temporal } from '@temporalio/proto';
import type { DataConverter } from '@temporalio/common';
import {
  DefaultLogger,
  type ReplayWorkerOptions,
  Runtime,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import type { History } from '../../history/decode/decode';
import { hasRuntime, historyOfBytes } from '../../history/replay/sdk-internals';

const { History: Events, HistoryEvent } = temporal.api.history.v1;

/** A history for another process: the first event and the rest, as protobuf. */
interface PackedHistory {
  first: Uint8Array;
  rest: Uint8Array;
}

/** Packs a history. */
export function packHistory({ events }: History): PackedHistory {
  const [first = {}, ...rest] = events ?? [];
  return { first: HistoryEvent.encode(first).finish(), rest: Events.encode({ events: rest }).finish() };
}

/** The history for the SDK. All events except the first stay bytes. */
export function unpackHistory({ first, rest }: PackedHistory): History {
  return historyOfBytes(first, rest);
}

/**
 * The options with which the SDK replays a bundle. Temporal's own log is off, because the report of each run says the
 * same.
 */
export function codeToReplay(
  workflowBundle: WorkflowBundleOption,
  dataConverter: DataConverter,
): ReplayWorkerOptions {
  if (!hasRuntime()) {
    const logger = new DefaultLogger('ERROR', () => undefined);
    const logging = { filter: { core: 'ERROR', other: 'ERROR' } as const, forward: {} };
    // A signal ends a replay immediately, like any other command.
    Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging } });
  }
  return { workflowBundle, dataConverter };
}
