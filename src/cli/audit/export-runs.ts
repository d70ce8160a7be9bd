import type { Countersign, RunQuery, RunSummary } from '../../client';
import { createRecorder } from '../../history/audit/records/recorder';
import { mapOrdered } from '../../client/ordered';
import { AT_ONCE, unlessGone } from '../../client/read-turns';
import type { AuditFile } from './audit-file';

/** How far an export is. */
export interface ExportProgress {
  runs: number;
  done: number;
  /** Runs that the server deleted between listing and reading: their retention was over. */
  gone: number;
}

/** The part of the client that an export reads with. */
export type AuditSource = Pick<Countersign, 'runs' | 'runEvents'>;

/** Appends what a file lacks of the runs that a query finds, oldest run first. Errors: of the client and the file. */
export async function exportRuns(
  source: AuditSource,
  { query, file, progress }: { query: RunQuery; file: AuditFile; progress: ExportProgress },
): Promise<void> {
  const runs: RunSummary[] = [];
  for await (const run of source.runs(query)) if (run.open || !file.known.hasWhole(run.runId)) runs.push(run);
  progress.runs = runs.length;
  const read = async (run: RunSummary) => ({ run, events: await unlessGone(source.runEvents(run)) });
  for await (const { run, events } of mapOrdered(runs.reverse(), AT_ONCE, read)) {
    progress.done += 1;
    if (events === undefined) progress.gone += 1;
    const recorder = createRecorder(run.turn);
    for (const event of events ?? []) {
      for (const record of recorder.push(event)) await file.add(record);
    }
  }
}
