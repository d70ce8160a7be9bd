import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { CallDetails } from '../../../server/api';
import type { CallPhase, CallView } from '../../../history/view-types';
import { readCall } from '../../api/http';
import { itemOf, useDesk } from '../../state/desk';
import { useKeys } from '../../state/use-keys';
import { goTo } from '../../state/use-route';
import { ClosedPanel } from './closed';
import { DoubtPanel } from './doubt';
import { RequestPanel } from './request';

/** Phases that pass by themselves, within moments where a worker is up. */
const PASSING: readonly CallPhase[] = ['proposed', 'replanning', 'approved', 'running', 'lost'];
const LOOK_AGAIN_MS = 1_000;

interface CallPanelProps {
  turn: string;
  callId: string;
  /** The person is done with it. */
  decided: () => void;
}

/** One call as it is now: a request to decide, a call in doubt to resolve, or what became of it. */
export function CallPanel({ turn, callId, decided }: CallPanelProps): JSX.Element {
  const { details, refresh, problem } = useCall(turn, callId);
  useKeys({ u: () => goTo({ at: 'turn', turn }) });
  const call = details?.view.calls.find((one) => one.callId === callId);
  if (problem !== undefined) return <p class="empty problem">{problem}</p>;
  if (details === undefined) return <p class="empty">Reading the request …</p>;
  if (call === undefined) return <p class="empty">This turn has no call {callId}.</p>;
  return <Panel {...{ details, call, refresh, decided }} />;
}

interface PanelProps {
  details: CallDetails;
  call: CallView;
  refresh: () => void;
  decided: () => void;
}

/** What is open is known by what it shows: when that changes, a new panel starts from nothing. */
function Panel({ details, call, refresh, decided }: PanelProps): JSX.Element {
  const [reason, setReason] = useState('');
  const [refusal, setRefusal] = useState<string>();
  const shared = { details, call, reason, setReason, refresh, decided, refusal, setRefusal };
  if (call.phase === 'requested' && call.request !== undefined) {
    const { callKey, argsDigest, eventId } = call.request;
    return <RequestPanel key={`${callKey}/${argsDigest}/${eventId}`} request={call.request} {...shared} />;
  }
  if (call.phase === 'in_doubt' && call.doubt !== undefined) {
    return <DoubtPanel key={call.doubt.eventId} doubt={call.doubt} {...shared} />;
  }
  return <ClosedPanel details={details} call={call} refusal={refusal} next={decided} />;
}

/** What both panels that decide are given. */
export interface DecidingProps extends PanelProps {
  /** Stays when the panel starts anew. */
  reason: string;
  setReason: (reason: string) => void;
  /** Why the last decision was refused. */
  refusal: string | undefined;
  setRefusal: (refusal: string | undefined) => void;
}

function useCall(
  turn: string,
  callId: string,
): { details?: CallDetails; problem?: string; refresh: () => void } {
  const { inbox, fail } = useDesk();
  const [state, setState] = useState<{ details?: CallDetails; problem?: string }>({});
  const refresh = useCallback(() => {
    void readCall(turn, callId).then((reply) => {
      if (reply.ok) return setState({ details: reply.data });
      // What is on the screen stays: the connection may come back.
      if (reply.status === 404) return setState({ problem: reply.error.message });
      fail(reply.status, reply.error);
    });
  }, [turn, callId, fail]);
  const item = itemOf(inbox, turn, callId);
  useEffect(refresh, [refresh, item?.callKey, item?.since, item?.kind, inbox.connection === 'live']);
  const phase = state.details?.view.calls.find((call) => call.callId === callId)?.phase;
  const isPassing = phase !== undefined && PASSING.includes(phase);
  useEffect(() => {
    if (!isPassing) return;
    const timer = setInterval(refresh, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isPassing, refresh]);
  return { ...state, refresh };
}
