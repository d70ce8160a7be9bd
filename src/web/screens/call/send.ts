import { useRef, useState } from 'preact/hooks';
import type { Issue } from '../../../contract/tool';
import { callTitle } from '../../../history/labels';
import type { CallView } from '../../../history/view-types';
import type { Answer, BodyGrantPasskey, BodyPasskey, CallDetails } from '../../../server/api';
import { newDecisionId, type Reply } from '../../http';
import { fieldIssues } from '../../model/draft';
import { parseRoute, type Route } from '../../model/route';
import { errorText, noticeText, refusalText } from '../../model/labels';
import { letsRun } from '../../model/review';
import type { Typed } from '../../kept-input';
import { type ShownNotice, useAppContext } from '../../ui/app';
import type { Accepted } from '../../../contract/decision';
import { approvalsNeeded } from '../../../authority/rules/stricter-rule';

/** The props of every panel of a call. */
export interface PanelProps {
  details: CallDetails;
  call: CallView;
  refresh: () => void;
  decided: () => void;
}

/** The text that the person typed here. It survives a new panel, a visit to another screen and a reload. */
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

/** The signatures that the person's passkey made for a request to the server. */
export type Signed = BodyPasskey & BodyGrantPasskey;
type Identified<B> = B & Signed & { decisionId: string; runId: string };
/** An answer. If the server did something else than the person asked for, `done` says in words what it did. */
type Told = Answer & { done?: string };
type Post<B> = (turn: string, body: Identified<B>, signal: AbortSignal) => Promise<Reply<Told>>;

interface SendOptions {
  /** Called with the problems that were found in the arguments. */
  refused?: (issues: readonly Issue[]) => void;
  /** Whether to send immediately. A decision that lets nothing run needs no time to undo it. */
  isNow?: boolean;
}

/**
 * Sends a decision or a resolution once it can no longer be undone, and handles the answer. `isSending` is true until
 * the answer comes.
 */
export function useSend<B extends object>({ details, call, ...props }: DecidingProps, post: Post<B>) {
  const { forget, setRefusal, refresh, decided } = props;
  const { session, notify, follow, fail, held, hold, carefully } = useAppContext();
  const [isLocked, setLocked] = useState(false);
  const idOf = useDecisionId();
  const { turn, runId } = details.view;
  const { callId } = call;
  const key = `${turn}/${callId}`;
  const here = parseRoute(location.hash);
  const route: Route = here.at === 'conversation' ? here : { at: 'call', turn, callId };
  const back: ShownNotice['to'] = { label: 'Open it', route };
  const answered = (reply: Reply<Told>, what: string, { isAway, refused }: Away) => {
    const bad = (text: string) => notify({ text: `${what}: ${text}`, tone: 'bad', to: back, stays: true });
    if (!reply.ok) return isAway && reply.status !== 401 ? bad(errorText(reply.error)) : fail(reply);
    const answer = reply.data;
    if (answer.status === 'refused') {
      const text = refusalText(answer.verdict, session.user);
      if (isAway) return bad(`not taken. ${text}`);
      setRefusal(text);
      refused?.(fieldIssues(answer.verdict.issues ?? []));
      return refresh();
    }
    forget();
    setRefusal(undefined);
    const to: ShownNotice['to'] = { label: 'See the turn', route: { at: 'turn', turn } };
    const vote = answer.status === 'accepted' ? voteText(answer.verdict, call) : undefined;
    notify({ text: noticeText(answer, vote ?? answer.done ?? what), tone: 'good', to });
    if (answer.status === 'accepted' && answer.verdict.asksAgain === true) {
      // This panel shows the old request until the next panel replaces it, so nothing can be sent from it.
      setLocked(true);
      return refresh();
    }
    if (letsRun(answer)) follow({ turn, callId, what: callTitle(call) });
    if (!isAway) decided();
  };
  /** Sends the decision. `what` describes the decision in words, for the notice. */
  const send = (body: B, what: string, { refused, isNow = false }: SendOptions = {}) => {
    const sent = { ...body, runId };
    const identified = { ...sent, decisionId: idOf(sent) };
    const isAway = !isNow && session.undoMs > 0;
    const sendIt = async () => {
      const postIt = (signed: Signed) =>
        carefully((signal) => post(turn, { ...identified, ...signed }, signal));
      answered(await sendSigned(what, postIt), what, { isAway, refused });
    };
    hold({ key, what, back: route }, sendIt, isNow);
    if (isAway) decided();
  };
  return { isSending: isLocked || held.some((one) => one.key === key), send };
}

/**
 * Sends a decision, or a request about a grant. If the rule needs signatures, the person signs with their passkey, and
 * the request is sent again.
 */
export async function sendSigned<T>(
  what: string,
  post: (signed: Signed) => Promise<Reply<T>>,
): Promise<Reply<T>> {
  const reply = await post({});
  if (reply.ok || (reply.error.passkey ?? reply.error.grantPasskey) === undefined) return reply;
  const signed = await (await import('../passkeys')).signAsked(reply.error, what);
  return signed === undefined ? reply : post(signed);
}

interface Away {
  /** Whether the next item is already open. */
  isAway: boolean;
  refused: SendOptions['refused'];
}

/**
 * Makes the id of a decision. If no answer came, the same content is sent again with the same id, so that the decision
 * counts once.
 */
function useDecisionId(): (content: unknown) => string {
  const last = useRef({ content: '', id: '' });
  return (content) => {
    const text = JSON.stringify(content);
    if (last.current.content !== text) last.current = { content: text, id: newDecisionId() };
    return last.current.id;
  };
}

/** A vote that was taken while others are still needed, for a notice. Undefined: it is not an approval, or it decided. */
function voteText(
  { decision, needs }: Accepted,
  call: Pick<CallView, 'tool' | 'effective' | 'request'>,
): string | undefined {
  const rule = call.request?.authority?.rule;
  if (decision !== 'approved' || needs === undefined || rule === undefined) return undefined;
  const all = approvalsNeeded(rule);
  return `Your vote, ${all - needs.approvals} of ${all}: ${callTitle(call)}`;
}
