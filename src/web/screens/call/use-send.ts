import { useRef, useState } from 'preact/hooks';
import type { Issue } from '../../../contract/tool';
import type { RequestOpened } from '../../../history/events';
import type { Answer } from '../../../server/api';
import { newDecisionId, sendDecision } from '../../api/http';
import { toDecision, type Choice } from '../../model/decision';
import { atField } from '../../model/form/draft';
import { refusalWords } from '../../model/refusal';
import { useDesk } from '../../state/desk';
import type { DecidingProps } from './call';

type SendProps = DecidingProps & {
  request: RequestOpened;
  choice: Choice;
  setRefused: (issues: readonly Issue[]) => void;
};

/** Decides; `isSending` while the answer is awaited. */
export interface Sending {
  isSending: boolean;
  approve: () => void;
  deny: () => void;
}

/** Sends a decision and does what its answer asks for. */
export function useSend(props: SendProps): Sending {
  const { details, request, choice, setReason, setRefused, setRefusal, refresh, decided } = props;
  const { tell, fail } = useDesk();
  const [isSending, setSending] = useState(false);
  const idOf = useDecisionId();
  const turn = details.view.turn;
  const send = async (kind: 'approve' | 'deny'): Promise<void> => {
    const body = toDecision(request, kind, choice);
    setSending(true);
    const reply = await sendDecision(turn, { ...body, decisionId: idOf(body) });
    setSending(false);
    if (!reply.ok) return fail(reply.status, reply.error);
    take(reply.data, body.decision);
  };
  const take = (answer: Answer, decision: string): void => {
    if (answer.status === 'refused') {
      setRefusal(refusalWords(answer.verdict));
      setRefused((answer.verdict.issues ?? []).map(atField));
      return refresh();
    }
    setReason('');
    setRefusal(undefined);
    tell({
      text: toldOf(answer, `${decision} ${request.tool}`),
      tone: 'good',
      to: { label: 'See the turn', route: { at: 'turn', turn } },
    });
    if (answer.status === 'accepted' && answer.verdict.asksAgain === true) return refresh();
    decided();
  };
  return { isSending, approve: () => void send('approve'), deny: () => void send('deny') };
}

function toldOf(answer: Exclude<Answer, { status: 'refused' }>, what: string): string {
  const said = `${what.charAt(0).toUpperCase()}${what.slice(1)}.`;
  if (answer.status === 'recorded') return `${said} It is recorded and takes effect when a worker returns.`;
  return answer.verdict.asksAgain === true
    ? `${said} Its new plan needs a look; it comes here in a moment.`
    : said;
}

/** The same content sent again, after an answer that never came, has the same id and so counts once. */
function useDecisionId(): (content: unknown) => string {
  const last = useRef({ content: '', id: '' });
  return (content) => {
    const text = JSON.stringify(content);
    if (last.current.content !== text) last.current = { content: text, id: newDecisionId() };
    return last.current.id;
  };
}
