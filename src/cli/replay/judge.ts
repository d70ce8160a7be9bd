import type { ReplayWorkerOptions } from '@temporalio/worker';
import { CountersignError } from '../../contract/errors';
import type { Decode } from '../../history/decode';
import { defined } from '../../history/defined';
import { turnEventsOfRuns } from '../../history/from-json';
import { explain, type Finding } from '../../history/replay/explain';
import { replayRuns, type ReplayedRun, type RunToReplay } from '../../history/replay/replayer';

/** A run of a turn, by its ids where they are known. */
export interface NamedRun extends RunToReplay {
  runId?: string;
}

/** What came of one run: no finding means that it replays. */
export interface Judged {
  turn: string;
  runId?: string;
  events: number;
  finding?: Finding;
}

/** With which code runs are replayed, and what decodes them. */
export interface Replaying {
  options: ReplayWorkerOptions;
  decode: Decode;
}

/** Replays runs in order and judges each. */
export async function* judgeRuns(
  { options, decode }: Replaying,
  runs: AsyncIterable<NamedRun>,
): AsyncGenerator<Judged> {
  for await (const replayed of replayRuns(options, runs)) {
    const { turn, runId, history } = replayed.run;
    const finding = await findingOf(replayed, decode);
    yield { turn, events: history.events?.length ?? 0, ...defined({ runId, finding }) };
  }
}

async function findingOf(
  { run, observed, error }: ReplayedRun<NamedRun>,
  decode: Decode,
): Promise<Finding | undefined> {
  if (error === undefined) return undefined;
  const why = await unreadable(run, decode);
  if (why !== undefined) return { kind: 'unreadable', eventId: 1, why, message: error.message };
  return explain(run.history, observed, error.message);
}

/** Why this process cannot read a history at all: then it says nothing about the code. */
async function unreadable({ history }: NamedRun, decode: Decode): Promise<string | undefined> {
  try {
    await turnEventsOfRuns([history], decode);
    return undefined;
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return error.code === 'not_a_turn' ? undefined : error.message;
  }
}
