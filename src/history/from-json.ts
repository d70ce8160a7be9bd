import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { CountersignError } from '../contract/errors';
import { makeDecode, type Decode } from './decode';
import type { DecodedEvent } from './decode/events';
import type { TurnEvent } from './events';
import { createFold } from './fold';

/**
 * The turn events of an exported history: what `temporal workflow show --output json` or the UI's download gives,
 * as text or parsed. More than one run: give them one after the other to one fold instead.
 *
 * @throws CountersignError `bad_history` for what is no exported history.
 */
export async function turnEventsOfJson(json: unknown, decode: Decode = makeDecode()): Promise<TurnEvent[]> {
  const fold = createFold();
  return (await decodeJson(json, { decode })).flatMap((event) => fold.push(event));
}

/**
 * The decoded events of an exported history; `namespace` is the one that encrypted payloads are bound to.
 *
 * @throws CountersignError `bad_history`, `key_missing`.
 */
export async function decodeJson(
  json: unknown,
  { decode, namespace }: { decode: Decode; namespace?: string },
): Promise<DecodedEvent[]> {
  const { events } = parseHistory(json);
  const workflowId = events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId;
  const owner =
    workflowId && namespace !== undefined
      ? ({ type: 'workflow', namespace, workflowId } as const)
      : undefined;
  const decoded: DecodedEvent[] = [];
  for (const raw of events ?? []) decoded.push(await decode(raw, owner));
  return decoded;
}

function parseHistory(json: unknown): ReturnType<typeof historyFromJSON> {
  try {
    return historyFromJSON(typeof json === 'string' ? JSON.parse(json) : json);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const hint = 'export one with: temporal workflow show --workflow-id <id> --output json';
    throw new CountersignError('bad_history', `this is no exported history: ${why}`, { hint, cause });
  }
}
