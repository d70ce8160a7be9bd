import { defaultPayloadConverter } from '@temporalio/common';
import { CountersignError } from '../contract/errors';
import { isObject } from '../contract/json';
import { PATCHES, WORKFLOWS } from '../contract/names';
import { makeDecode, type Decode, type HistoryEvent } from './decode';
import type { TurnEvent } from './events';
import { newerVersion, parseExport, type RunHistory } from './exported';
import { createFold } from './fold';

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
  runs: readonly RunHistory[],
  decode: Decode = makeDecode(),
): Promise<TurnEvent[]> {
  for (const run of runs) refuseNewer(run);
  const fold = createFold();
  const events: TurnEvent[] = [];
  for (const run of runs) for (const raw of run.events ?? []) events.push(...fold.push(await decode(raw)));
  refuseOthers(runs, events);
  return events;
}

const PATCH = 'core_patch';

/**
 * A change to our workflow that older code cannot know leaves a marker with the id of its patch.
 *
 * @throws CountersignError `newer_version`.
 */
export function refuseNewer(run: RunHistory): void {
  if (typeOf(run) !== WORKFLOWS.turn) return;
  const unknown = run.events?.flatMap(patchIn).find((id) => !PATCHES.includes(id));
  if (unknown !== undefined)
    throw newerVersion(`the turn has the change ${JSON.stringify(unknown)}, which is not known here`);
}

function patchIn({ markerRecordedEventAttributes: marker }: HistoryEvent): string[] {
  const [payload] = marker?.markerName === PATCH ? (marker.details?.['patch-data']?.payloads ?? []) : [];
  const data: unknown = payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
  return isObject(data) && typeof data['id'] === 'string' ? [data['id']] : [];
}

/** A workflow of somebody's own has calls in it if it is any business of ours. */
function refuseOthers([first]: readonly RunHistory[], events: readonly TurnEvent[]): void {
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
export function typeOf(run: RunHistory): string {
  return run.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';
}
