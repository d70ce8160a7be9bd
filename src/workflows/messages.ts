import { defaultPayloadConverter, rawValueTypeInfo, type RawValue } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Accepted } from '../contract/decision';
import { QUERIES, SIGNALS, UPDATES } from '../contract/names';
import type { TranscriptPage, TranscriptQuery } from '../contract/transcript';

/**
 * Messages are taken raw and decoded by us: an argument that cannot be decoded would otherwise fail the workflow task
 * again and again, and anyone who may signal could stop a turn for ever.
 */
const raw = { typeInfo: { inputTypes: [rawValueTypeInfo] } };

export const approvalSignal = defineSignal<[RawValue]>(SIGNALS.approval, raw);
export const resolutionSignal = defineSignal<[RawValue]>(SIGNALS.resolution, raw);
export const outcomeSignal = defineSignal<[RawValue]>(SIGNALS.outcome, raw);
export const abandonSignal = defineSignal<[RawValue]>(SIGNALS.abandon, raw);
export const decideUpdate = defineUpdate<Accepted, [RawValue]>(UPDATES.decide, raw);
export const resolveUpdate = defineUpdate<Accepted, [RawValue]>(UPDATES.resolve, raw);
export const transcriptQuery = defineQuery<TranscriptPage, [TranscriptQuery]>(QUERIES.transcript);

/** The value of a raw message; undefined where there is none or it is no JSON. Never throws. */
export function decodeMessage(message: RawValue | undefined): unknown {
  try {
    return message === undefined ? undefined : defaultPayloadConverter.fromPayload(message.payload);
  } catch {
    return undefined;
  }
}
