import { CountersignError } from '../contract/errors';
import { PATCHES, WORKFLOWS } from '../contract/names';
import { patchOf } from './decode/patch';
import { makeDecode, type Decode, type HistoryEvent } from './decode';
import type { TurnEvent } from './events';
import { newerVersion, parseExport } from './exported';
import { createFold } from './fold';
import type { History } from './read-histories';

/**
 * The turn events of an exported file: see `parseExport`.
 *
 * @throws CountersignError `bad_history`, `newer_version`, `not_a_turn`, or `key_missing` where it is encrypted.
 */
export async function turnEventsOfJson(json: unknown, decode: Decode = makeDecode()): Promise<TurnEvent[]> {
  return turnEventsOfRuns(parseExport(json), decode);
}

/** The turn events of the runs of a turn, first one first. Errors: as `turnEventsOfJson`. */
export async function turnEventsOfRuns(
  runs: readonly History[],
  decode: Decode = makeDecode(),
): Promise<TurnEvent[]> {
  for (const run of runs) refuseNewer(run);
  const fold = createFold();
  const events: TurnEvent[] = [];
  for (const run of runs) for (const raw of run.events ?? []) events.push(...fold.push(await decode(raw)));
  refuseOthers(runs, events);
  return events;
}

/**
 * A change to our workflow that older code cannot know leaves a marker with the id of its patch.
 *
 * @throws CountersignError `newer_version`.
 */
export function refuseNewer(run: History): void {
  if (typeOf(run) !== WORKFLOWS.turn) return;
  const unknown = run.events?.flatMap(patchIn).find((id) => !Object.values<string>(PATCHES).includes(id));
  if (unknown !== undefined)
    throw newerVersion(`the turn has the change ${JSON.stringify(unknown)}, which is not known here`);
}

function patchIn({ markerRecordedEventAttributes: marker }: HistoryEvent): string[] {
  const id = marker && patchOf(marker);
  return id === undefined || id === null ? [] : [id];
}

/** A workflow of somebody's own has calls in it if it is any business of ours. */
function refuseOthers([first]: readonly History[], events: readonly TurnEvent[]): void {
  const type = first === undefined ? '' : typeOf(first);
  if (type === WORKFLOWS.turn || events.some((event) => event.type === 'call_prepared')) return;
  throw new CountersignError(
    'not_a_turn',
    `this is a history of the workflow ${JSON.stringify(type)}, not of a turn`,
    {
      hint: 'export the history of a turn; countersign list shows the turns there are',
    },
  );
}

/** The type of a run's workflow. */
export function typeOf(run: History): string {
  return run.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';
}
