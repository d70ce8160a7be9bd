import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallView } from '../../../history/view-types';
import { startFork } from '../../api/http';
import { errorWords } from '../../model/error-words';
import { draftFor, toForkBody, type ForkDraft } from '../../model/fork';
import { Text } from '../../parts/text';
import { useDesk } from '../../state/desk';
import { goTo } from '../../state/use-route';
import { ForkForm } from './fork-form';

interface WhatIfProps {
  turn: string;
  call: CallView;
}

/** Offers to go on from a call as if it had gone otherwise, in a turn of its own. */
export function WhatIf({ turn, call }: WhatIfProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        class="button plain what-if"
        type="button"
        aria-label={`What if … at ${call.callId}`}
        onClick={() => setOpen(true)}
      >
        What if …
      </button>
      {isOpen && <WhatIfDialog {...{ turn, call }} close={() => setOpen(false)} />}
    </>
  );
}

function WhatIfDialog({ turn, call, close }: WhatIfProps & { close: () => void }): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  const [draft, setDraft] = useState(() => draftFor(call));
  const { isSending, problem, start } = useStart(turn, call.callId);
  useEffect(() => ref.current?.showModal(), []);
  return (
    <dialog ref={ref} class="card what-if-card" aria-labelledby="what-if-title" onClose={close}>
      <h2 id="what-if-title">
        What if, at {call.callId}{' '}
        <code>
          <Text of={call.tool} />
        </code>{' '}
        …
      </h2>
      <p class="quiet">
        A new turn takes everything before this call from the record and goes on from here. Nothing that
        happened runs again, and this turn stays as it is.
      </p>
      <ForkForm
        {...{ call, draft, setDraft, isSending, problem, cancel: close, start: () => void start(draft) }}
      />
    </dialog>
  );
}

/** Starts a fork and goes to it. What was typed stays where it cannot be started. */
function useStart(
  turn: string,
  callId: string,
): { isSending: boolean; problem: string | undefined; start: (draft: ForkDraft) => Promise<void> } {
  const { tell, fail } = useDesk();
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const start = async (draft: ForkDraft): Promise<void> => {
    setSending(true);
    setProblem(undefined);
    const reply = await startFork(turn, toForkBody(callId, draft));
    setSending(false);
    if (!reply.ok) {
      if (reply.status === 401) return fail(reply.status, reply.error);
      return setProblem(errorWords(reply.error));
    }
    tell({ text: 'The fork was started; this is it.', tone: 'good' });
    goTo({ at: 'turn', turn: reply.data.turn });
  };
  return { isSending, problem, start };
}
