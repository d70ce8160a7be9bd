import type { JSX } from 'preact';
import type { RequestOpened } from '../../../history/events';
import { WatchSeen } from '../../parts/seen';
import type { DecidingProps } from './call';
import { ModelSays, UserAsked } from './context';
import { DecisionBar } from './decision-bar';
import { Facts } from './facts';
import { CallHead } from './head';
import { Proposal } from './proposal';
import { Refusal } from './refusal';
import { useReview } from './use-review';
import { useSend } from './use-send';

/**
 * A request in full, and everything that decides it. What the model says about it comes last: a person judges what
 * will run, not how it is described.
 */
export function RequestPanel(props: DecidingProps & { request: RequestOpened }): JSX.Element {
  const { details, call, request, refusal, reason, setReason } = props;
  const review = useReview(props);
  const sending = useSend({ ...props, ...review });
  return (
    <article class="call" aria-label={`Request ${call.callId}`}>
      <CallHead details={details} call={call}>
        <Refusal text={refusal} />
        <Facts request={request} timeoutMs={details.timeoutMs} />
      </CallHead>
      <UserAsked view={details.view} />
      <WatchSeen report={review.setUnseen}>
        <Proposal {...{ details, request, review }} />
      </WatchSeen>
      <ModelSays view={details.view} call={call} />
      <DecisionBar {...{ review, sending, reason, setReason }} />
    </article>
  );
}
