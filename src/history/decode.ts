import {
  defaultDataConverter,
  type LoadedDataConverter,
  type SerializationContext,
} from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { decodeActivity } from './decode/activities';
import type { DecodedEvent } from './decode/events';
import { decodeMessage } from './decode/messages';
import { Payloads } from './decode/payloads';
import { decodeRun } from './decode/run';
import { toIso, toNumber } from './decode/time';

/** One event as the server or an exported history gives it. */
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/**
 * Decodes one event; at once where its kind has no payloads. `owner`: the workflow it is of, which a codec may have bound its
 * payloads to.
 */
export type Decode = (
  raw: HistoryEvent,
  owner?: SerializationContext,
) => DecodedEvent | Promise<DecodedEvent>;

/**
 * Makes a decoder for the payloads of one data converter, codecs included.
 * It never throws on a payload: one that cannot be decoded is `undefined`. One whose key is missing is another matter:
 * where only workers write it throws, because every turn would look empty.
 */
export function makeDecode(converter: LoadedDataConverter = defaultDataConverter): Decode {
  return (raw, owner) => {
    // Spread after `kind`, never first: see `headOf` of the fold.
    const head = { eventId: toNumber(raw.eventId), at: toIso(raw.eventTime) ?? new Date(0).toISOString() };
    // A quarter of every history, and nothing in it: not worth asking each family.
    if (raw.workflowTaskScheduledEventAttributes) return { kind: 'other', ...head };
    const payloads = new Payloads(converter, owner);
    return (
      decodeRun(raw, head, payloads) ??
      decodeActivity(raw, head, payloads) ??
      decodeMessage(raw, head, payloads) ?? { kind: 'other', ...head }
    );
  };
}
