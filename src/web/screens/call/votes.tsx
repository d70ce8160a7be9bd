import { useRef, useState } from 'preact/hooks';
import { LIMITS } from '../../../contract/limits';
import { counted } from '../../../history/labels';
import type { RequestOpened } from '../../../history/events';
import type { DecisionBody } from '../../../server/api';
import { poster, sendDecision } from '../../http';
import { decisionText } from '../../model/review';
import { Button, FormDialog, useSure, Opener } from '../../ui/widgets';
import { LinesInput } from './inputs';
import { type DecidingProps, useSend } from './send';

const askAgain = poster<DecisionBody>('ask-again');

interface VotesProps extends DecidingProps {
  request: RequestOpened;
}

/** Buttons that withdraw a vote, or have a call asked about again. The server says who may use them. */
export function VoteActions(props: VotesProps) {
  const { ownVote, offers } = props.details;
  return (
    <div class="vote-actions">
      {ownVote !== undefined && <Withdraw {...props} vote={ownVote === 'denied' ? 'denial' : 'approval'} />}
      {offers.includes('ask-again') && (
        <div>
          <Opener label="Ask again …" dialog={(close) => <AgainDialog {...props} close={close} />} />
        </div>
      )}
    </div>
  );
}

/** Withdraws a vote. The first click only explains what the second click does. */
function Withdraw({ vote, request, ...props }: VotesProps & { vote: string }) {
  const ref = useRef<HTMLDivElement>(null);
  const { isSending, send: say } = useSend(
    {
      ...props,
      // The person stays at the request, so the typed text stays, too.
      forget: () => undefined,
      decided: () => {
        ref.current?.closest('article')?.querySelector<HTMLElement>('.call-title')?.focus();
        props.refresh();
      },
    },
    sendDecision,
  );
  const { isAsked, click, forget } = useSure(() => {
    const { callId, callKey, seenDigest } = request;
    const body = { callId, callKey, seenDigest, decision: 'withdrawn' } as const;
    say(body, decisionText(request, body), { isNow: true });
  });
  return (
    <div ref={ref}>
      <p role="status">
        {isAsked && `Your ${vote} counts no more then, and the call waits for others. You may vote again.`}
      </p>
      <Button aria-disabled={isSending} onClick={isSending ? undefined : click} onBlur={forget}>
        {isAsked ? 'Withdraw it now' : 'Withdraw my vote …'}
      </Button>
    </div>
  );
}

function AgainDialog({ close, request, ...props }: VotesProps & { close: () => void }) {
  const [reason, setReason] = useState('');
  const { isSending, send: say } = useSend({ ...props, forget: () => undefined }, askAgain);
  const why = reason.trim();
  const ask = () => {
    const { callId, callKey, seenDigest } = request;
    const body = { callId, callKey, seenDigest, decision: 'ask-again', reason: why } as const;
    say(body, decisionText(request, body), { isNow: true });
    close();
  };
  return (
    <FormDialog
      name="again"
      title="Ask again"
      label="Ask again"
      isAllowed={why !== '' && !isSending}
      act={ask}
      close={close}
    >
      <p>
        The call is prepared anew, under today’s rules, and nothing runs. {voidText(props.call.votes.length)}
      </p>
      <LinesInput
        id="again-reason"
        label="Why, for the record"
        rows={2}
        text={reason}
        setText={setReason}
        mostBytes={LIMITS.reasonBytes}
      />
    </FormDialog>
  );
}

function voidText(votes: number) {
  if (votes === 0) return '';
  const count = votes === 1 ? 'counts' : 'count';
  return `Its ${counted(votes, 'vote')} ${count} no more: whoever cast one has to look again.`;
}
