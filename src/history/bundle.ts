import type { LoadedDataConverter } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { rewriteEvent, type Rewriter } from './bundle/rewrite';
import { EXPORT_FORMAT } from './exported';
import type { History } from './read-histories';

export type { Rewriter } from './bundle/rewrite';

/** A turn in one file: what `countersign export` writes, and what replay, fork and timeline read. */
export interface Bundle {
  countersign: number;
  /** The version that wrote it. */
  version: string;
  /** Whether secrets were taken out, and how many values changed by it. */
  redacted: { secrets: boolean; values: number };
  /** The history of each run, first one first, as Temporal's own JSON. */
  runs: unknown[];
}

/** What a bundle is made of and with. */
export interface BundleOptions {
  version: string;
  namespace: string;
  turn: string;
  /** Opens encrypted payloads: in the bundle they are plain, so that anyone can replay it. */
  converter: Pick<LoadedDataConverter, 'payloadCodecs'>;
  rewriter: Rewriter;
}

/**
 * The runs of a turn as a bundle without `redacted`, which the rewriter's owner knows.
 *
 * @throws CountersignError `key_missing` where payloads of the turn's own cannot be opened.
 */
export async function makeBundle(
  runs: readonly History[],
  options: BundleOptions,
): Promise<Omit<Bundle, 'redacted'>> {
  const { namespace, turn: workflowId, version } = options;
  const context = { ...options, owner: { type: 'workflow', namespace, workflowId } as const };
  const written: unknown[] = [];
  for (const { events } of runs) {
    const rewritten = await Promise.all((events ?? []).map((event) => rewriteEvent(event, context)));
    written.push(JSON.parse(historyToJSON({ events: rewritten })));
  }
  return { countersign: EXPORT_FORMAT, version, runs: written };
}
