import type { temporal } from '@temporalio/proto';
import { defined } from '../defined';
import type { DecodedEvent, Decoding } from './events';
import { decodeFailure } from './failure';
import type { Payloads } from './payloads';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Head = { eventId: number; at: string };

/** Decodes what comes from outside (signals, updates, cancellation) and what is told outside (the memo). */
export function decodeMessage(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const signaled = raw.workflowExecutionSignaledEventAttributes;
  if (signaled) {
    const { signalName, identity } = signaled;
    return payloads.first(signaled.input).then((input) => ({
      kind: 'signaled',
      ...head,
      name: signalName ?? '',
      input,
      identity: identity ?? '',
    }));
  }
  const cancel = raw.workflowExecutionCancelRequestedEventAttributes;
  if (cancel) {
    const reason = cancel.cause || undefined;
    return defined({ kind: 'cancel_requested' as const, ...head, identity: cancel.identity ?? '', reason });
  }
  const memo = raw.workflowPropertiesModifiedEventAttributes?.upsertedMemo;
  if (memo) return payloads.map(memo.fields).then((fields) => ({ kind: 'memo', ...head, fields }));
  return decodeUpdate(raw, head, payloads);
}

function decodeUpdate(raw: HistoryEvent, head: Head, payloads: Payloads): Decoding {
  const accepted = raw.workflowExecutionUpdateAcceptedEventAttributes;
  if (accepted) {
    const { meta, input } = accepted.acceptedRequest ?? {};
    return payloads.first(input?.args).then((args) => ({
      kind: 'update_accepted',
      ...head,
      updateId: meta?.updateId ?? accepted.protocolInstanceId ?? '',
      name: input?.name ?? '',
      input: args,
      identity: meta?.identity ?? '',
    }));
  }
  const completed = raw.workflowExecutionUpdateCompletedEventAttributes;
  return completed ? decodeVerdict(completed, head, payloads) : undefined;
}

async function decodeVerdict(
  completed: temporal.api.history.v1.IWorkflowExecutionUpdateCompletedEventAttributes,
  head: Head,
  payloads: Payloads,
): Promise<DecodedEvent> {
  const { success, failure } = completed.outcome ?? {};
  return defined({
    kind: 'update_completed' as const,
    ...head,
    updateId: completed.meta?.updateId ?? '',
    value: await payloads.first(success),
    failure: failure ? await decodeFailure(failure, payloads) : undefined,
  });
}
