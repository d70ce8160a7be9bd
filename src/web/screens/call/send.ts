import { useRef, useState } from 'preact/hooks';
import { callSummary } from '../../../contract/text/call-summary';
import type { Issue } from '../../../contract/tool';
import type { CallView } from '../../../history/view-types';
import type { Answer, CallDetails } from '../../../server/api';
import { newDecisionId, type Reply } from '../../http';
import { fieldIssues } from '../../model/draft';
import { noticeText, refusalText } from '../../model/labels';
import type { Typed } from '../../typed';
import { type Notice, useAppContext, useCareful } from '../../ui/app';

/** What every panel of a call gets. */
export interface PanelProps {
  details: CallDetails;
  call: CallView;
  refresh: () => void;
  decided: () => void;
}

/** What the person typed here; kept when a new panel starts, on another screen and through a reload. */
export interface KeptTyped {
  typed: Typed;
  change: (part: Partial<Typed>) => void;
  forget: () => void;
}

/** The props of both panels that decide. */
export interface DecidingProps extends PanelProps, KeptTyped {
  /** Why the last decision was refused. */
  refusal: string | undefined;
  setRefusal: (refusal: string | undefined) => void;
}

type Post<B> = (
  turn: string,
  body: B & { decisionId: string; runId: string },
  signal: AbortSignal,
) => Promise<Reply<Answer>>;

/** What lets a call run: the person reads what goes wrong with it. */
const LETS: readonly string[] = ['approved', 'modified', 'run-again'];

/** Sends a decision or a resolution and handles its answer; `isSending` until it comes. */
export function useSend<B extends object>({ details, call, ...props }: DecidingProps, post: Post<B>) {
  const { forget, setRefusal, refresh, decided } = props;
  const { notify, follow, fail } = useAppContext();
  const [isSending, setSending] = useState(false);
  const idOf = useDecisionId();
  const carefully = useCareful();
  const { turn, runId } = details.view;
  /** `what`: the words for it in the notice. */
  const send = async (body: B, what: string, refused?: (issues: readonly Issue[]) => void): Promise<void> => {
    setSending(true);
    const sent = { ...body, runId };
    const identified = { ...sent, decisionId: idOf(sent) };
    const reply = await carefully((signal) => post(turn, identified, signal));
    const asksAgain = reply.ok && reply.data.status === 'accepted' && reply.data.verdict.asksAgain === true;
    // This panel shows the request before the change until the next one takes its place: nothing can be sent from it.
    if (!asksAgain) setSending(false);
    if (!reply.ok) return fail(reply.status, reply.error);
    const answer = reply.data;
    if (answer.status === 'refused') {
      setRefusal(refusalText(answer.verdict));
      refused?.(fieldIssues(answer.verdict.issues ?? []));
      return refresh();
    }
    forget();
    setRefusal(undefined);
    const to: Notice['to'] = { label: 'See the turn', route: { at: 'turn', turn } };
    notify({ text: noticeText(answer, what), tone: 'good', to });
    if (asksAgain) return refresh();
    if (answer.status === 'accepted' && LETS.includes(answer.verdict.decision)) {
      const { callId, tool, effective } = call;
      follow({ turn, callId, what: callSummary({ callId, tool, arguments: effective }) });
    }
    decided();
  };
  return { isSending, send };
}

/** When no answer came, the same content is sent again with the same id, so it counts once. */
function useDecisionId(): (content: unknown) => string {
  const last = useRef({ content: '', id: '' });
  return (content) => {
    const text = JSON.stringify(content);
    if (last.current.content !== text) last.current = { content: text, id: newDecisionId() };
    return last.current.id;
  };
}
