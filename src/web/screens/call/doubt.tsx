import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ResolutionKind } from '../../../contract/decision';
import { relative } from '../../../contract/times';
import type { InDoubtOpened } from '../../../history/events';
import { newDecisionId, sendResolution } from '../../api/http';
import { refusalWords } from '../../model/refusal';
import { Text } from '../../parts/text';
import { useDesk } from '../../state/desk';
import { useNow } from '../../state/use-now';
import { ArgumentsView } from './arguments';
import type { DecidingProps } from './call';
import { ModelSays, UserAsked } from './context';
import { Answers } from './doubt-answers';
import { CallHead } from './head';
import { Refusal } from './refusal';

type DoubtProps = DecidingProps & { doubt: InDoubtOpened };

/** A call that was started and whose outcome nobody knows: what is known, and the three answers. */
export function DoubtPanel(props: DoubtProps): JSX.Element {
  const { details, call, doubt, refusal } = props;
  const now = useNow();
  const resolve = useResolve(props);
  return (
    <article class="call" aria-label={`Call in doubt ${call.callId}`}>
      <CallHead details={details} call={call}>
        <Refusal text={refusal} />
        <div class="banner ask">
          <p>
            <strong>It was started, and nobody knows whether it happened.</strong> <Text of={doubt.message} />
          </p>
          <p>
            Started {call.startedAt === undefined ? 'at an unknown time' : relative(call.startedAt, now)}.
            Look where it would have left a trace, then say which it is. Until then nothing runs it again.
          </p>
        </div>
      </CallHead>
      {doubt.partial !== undefined && (
        <section aria-labelledby="partial-title">
          <h3 id="partial-title">Known so far</h3>
          <pre class="code preview-text">
            <Text of={doubt.partial} layout="block" />
          </pre>
        </section>
      )}
      <section aria-labelledby="started-title">
        <h3 id="started-title">Started with</h3>
        <ArgumentsView of={call.effective} />
      </section>
      <UserAsked view={details.view} />
      <ModelSays view={details.view} call={call} />
      <Answers {...props} {...resolve} />
    </article>
  );
}

/** What a person says about a call in doubt. */
export interface ResolveChoice {
  resolution: ResolutionKind;
  /** With `happened`: what it returned. */
  content: string;
}

function useResolve({ details, doubt, reason, setReason, setRefusal, refresh, decided }: DoubtProps) {
  const { tell, fail } = useDesk();
  const [isSending, setSending] = useState(false);
  const [decisionId] = useState(newDecisionId);
  const turn = details.view.turn;
  const send = async ({ resolution, content }: ResolveChoice): Promise<void> => {
    setSending(true);
    const reply = await sendResolution(turn, {
      ...{ callId: doubt.callId, callKey: doubt.callKey, resolution },
      decisionId: `${decisionId}-${resolution}`,
      ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
      ...(resolution === 'happened' && content !== '' ? { content } : {}),
    });
    setSending(false);
    if (!reply.ok) return fail(reply.status, reply.error);
    if (reply.data.status === 'refused') {
      setRefusal(refusalWords(reply.data.verdict));
      return refresh();
    }
    setReason('');
    const later = reply.data.status === 'recorded' ? ' It takes effect when a worker returns.' : '';
    tell({
      text: `Resolved: ${resolution}.${later}`,
      tone: 'good',
      to: { label: 'See the turn', route: { at: 'turn', turn } },
    });
    decided();
  };
  return { isSending, resolve: (choice: ResolveChoice) => void send(choice) };
}
