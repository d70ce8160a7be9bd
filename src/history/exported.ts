import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { CountersignError } from '../contract/errors';
import { isObject } from '../contract/json';
import type { HistoryEvent } from './decode';
import { toNumber } from './decode/time';
import type { History } from './read-histories';

/** The newest format of a file that `countersign export` writes. */
export const EXPORT_FORMAT = 1;

/** What `countersign export` writes: the histories of all runs of a turn, first one first, as Temporal's own JSON. */
const bundleSchema = z.looseObject({ countersign: z.number(), runs: z.array(z.unknown()).min(1) });

/**
 * The histories in an exported file, one for each run: what `countersign export` writes, or one run as
 * `temporal workflow show --output json` and the UI's download give it; as text or parsed.
 *
 * @throws CountersignError `bad_history` for what is none or is cut, `newer_version` for a format of a later release.
 */
export function parseExport(json: unknown): History[] {
  const parsed = typeof json === 'string' ? parseText(json) : json;
  const histories = isObject(parsed) && 'countersign' in parsed ? runsOfBundle(parsed) : [parsed];
  return histories.map((history, index) => {
    const run = toHistory(history);
    checkWhole(run, histories.length === 1 ? '' : ` of run ${index + 1}`);
    return run;
  });
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const cut = /^\s*\{/.test(text) && !/\}\s*$/.test(text);
    throw badHistory(cut ? 'the file is cut off: it is JSON that does not end' : 'this is no JSON', cause);
  }
}

function runsOfBundle(parsed: Record<string, unknown>): unknown[] {
  const bundle = bundleSchema.safeParse(parsed);
  if (!bundle.success) throw badHistory('this is no file of countersign export');
  if (bundle.data.countersign > EXPORT_FORMAT)
    throw newerVersion(`the file has format ${bundle.data.countersign}, this version reads ${EXPORT_FORMAT}`);
  return bundle.data.runs;
}

function toHistory(json: unknown): History {
  try {
    return historyFromJSON(json);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw badHistory(`this is no exported history: ${why}`, cause);
  }
}

/** Events of a run are numbered from 1 without a gap. */
function checkWhole({ events }: History, where: string): void {
  if (!events || events.length === 0) throw badHistory(`there are no events${where}`);
  const gap = events.findIndex((event, index) => toNumber(event.eventId) !== index + 1);
  if (gap !== -1) throw badHistory(`event ${gap + 1}${where} is missing: the history was cut`);
  if (events.slice(0, -1).some(isEnd)) throw badHistory(`there are events after the end${where}`);
  if (!events[0]?.workflowExecutionStartedEventAttributes)
    throw badHistory(`the first event${where} does not start a workflow`);
}

const { EventType } = temporal.api.enums.v1;
const ENDS: readonly unknown[] = [
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
];

/** The SDK's replayer waits for ever where something comes after the end. */
function isEnd({ eventType }: HistoryEvent): boolean {
  return ENDS.includes(eventType);
}

function badHistory(message: string, cause?: unknown): CountersignError {
  const hint = 'export one with: temporal workflow show --workflow-id <id> --output json';
  return new CountersignError('bad_history', message, { hint, cause });
}

/** Made by a later release, so that what this one reads of it could be wrong. */
export function newerVersion(why: string): CountersignError {
  return new CountersignError('newer_version', `this was made by a newer version of Countersign: ${why}`, {
    hint: 'read it with that version or a later one: npm install countersign@latest',
  });
}
