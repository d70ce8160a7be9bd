import { Button } from '../../ui/widgets';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { CallDetails } from '../../../server/api';
import { callTitle } from '../../../history/labels';
import { FILTER_CHARACTERS } from '../../../contract/limits';
import { type CallView, isWaiting, waitingEvent } from '../../../history/view-types';
import { readCall } from '../../http';
import { goTo, Late, useAppContext, useKept, useKeys, useNewest, useTabTitle } from '../../ui/app';
import { RequestPanel } from './request';
import type { DecidingProps, KeptTyped, PanelProps } from './send';
import { ArgumentsView, DecidedPreview, Outcome } from './content';
import { CallHead, ModelSays, Refusal, usePanelTitle, UserAsked } from './head';
import { useInboxRows } from '../../inbox-rows';
import { queryOf } from '../../model/route';
import { Text } from '../../ui/text';
import { LeftOver, whatHappened } from './edit';
import { NOTHING_TYPED } from '../../kept-input';

const LOOK_AGAIN_MS = 1_000;

interface CallPanelProps {
  turn: string;
  callId: string;
  /** Called when the person is done with the call. */
  decided: () => void;
}

/**
 * One call as it is now: a request to decide, a question to answer, a call in doubt to resolve, or a call that has
 * ended.
 */
export function CallPanel({ turn, callId, decided }: CallPanelProps) {
  const { details, call, refresh, problem } = useCall(turn, callId);
  const { value: typed, ...kept } = useKept(`${turn}/${callId}`, NOTHING_TYPED);
  useKeys({ u: () => goTo({ at: 'turn', turn }) });
  const Title = usePanelTitle();
  const title = useMemo(() => call && callTitle(call), [call]);
  useTabTitle(Title === 'h1' ? title : undefined);
  if (problem !== undefined)
    return (
      <div class="empty">
        <Title class="problem">
          <Text of={problem} />
        </Title>
        <a href="#/turns">All turns</a>
      </div>
    );
  if (details === undefined) return <Title class="empty">Reading the request …</Title>;
  if (call === undefined) return <Title class="empty">This turn has no call {callId}.</Title>;
  return <Panel {...{ details, call, refresh, decided, typed, ...kept }} />;
}

/** Chooses the panel of a call. The key of a panel is its content: when that changes, a new panel starts empty. */
function Panel(props: PanelProps & KeptTyped) {
  const { call } = props;
  const [refusal, setRefusal] = useState<string>();
  const shared = { ...props, refusal, setRefusal };
  const open = waitingEvent(call);
  const Title = usePanelTitle();
  switch (open?.type) {
    case 'request_opened':
      return (
        <RequestPanel key={`${open.callKey}/${open.seenDigest}/${open.eventId}`} request={open} {...shared} />
      );
    case 'question_opened':
      return (
        <Late
          as={Title}
          key={open.callKey}
          load={loadQuestion}
          show={(late) => <late.QuestionPanel asked={open} {...shared} />}
        />
      );
    case 'in_doubt':
      return (
        <Late
          as={Title}
          key={open.eventId}
          load={loadDoubt}
          show={(late) => <late.DoubtPanel doubt={open} {...shared} />}
        />
      );
    default:
      return <ClosedPanel {...shared} />;
  }
}

const loadQuestion = () => import('../question');
const loadDoubt = () => import('./doubt');

function useCall(
  turn: string,
  callId: string,
): { details?: CallDetails; call: CallView | undefined; problem?: string; refresh: () => void } {
  const { inbox, fail } = useAppContext();
  const [state, setState] = useState<{ details?: CallDetails; problem?: string }>({});
  const begin = useNewest();
  const refresh = useCallback(() => {
    const isNewest = begin();
    void readCall(turn, callId).then((reply) => {
      // After any other error the screen stays as it is, because the connection may come back.
      if (!reply.ok && reply.status !== 404) return fail(reply);
      if (isNewest()) setState(reply.ok ? { details: reply.data } : { problem: reply.error.message });
    });
  }, [turn, callId, fail]);
  // The server does not search for longer texts. We cut the beginning, because the id of the call is at the end.
  const query = queryOf({ text: `${turn}/${callId}`.slice(-FILTER_CHARACTERS) });
  const { page } = useInboxRows({ query, offset: 0, limit: 20 }, inbox, fail);
  const item = page?.rows.find((one) => one.turn === turn && one.callId === callId);
  // The vote of another person can change what this person may do.
  const votes = JSON.stringify(item?.voting);
  useEffect(refresh, [refresh, item?.callKey, item?.since, item?.kind, votes, inbox.connection === 'live']);
  const call = state.details?.view.calls.find((one) => one.callId === callId);
  // A call that waits is not in the inbox yet, or it was decided before the inbox listed it. No change of the inbox says so.
  const isListed = page === undefined || item !== undefined;
  const isPassing = call !== undefined && call.phase !== 'done' && !(isWaiting(call) && isListed);
  useEffect(() => {
    if (!isPassing) return;
    const timer = setInterval(refresh, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isPassing, refresh]);
  return { ...state, call, refresh };
}

/** A call that does not wait: who decided, what ran, and its result. */
function ClosedPanel({ details, call, refusal, decided: next, typed, forget }: DecidingProps) {
  return (
    <article class="call" aria-label={`Call ${call.callId}`}>
      <CallHead view={details.view} call={call}>
        <Refusal text={refusal} />
        {call.phase === 'preparing' && (
          <p class="banner" role="status">
            A worker prepares it anew. It comes here to be approved; nothing runs before that.
          </p>
        )}
        <LeftOver typed={typed} what={whatHappened(call)} drop={forget} />
      </CallHead>
      <h2 class="sr-only">Outcome</h2>
      <Outcome call={call} />
      <DecidedPreview call={call} level={2} />
      <section aria-labelledby="ran-title">
        <h2 id="ran-title">Arguments</h2>
        <ArgumentsView of={call.effective} plan={call.request?.preview?.plan} />
      </section>
      <UserAsked view={details.view} />
      <ModelSays view={details.view} call={call} />
      <p>
        <Button onClick={next}>{usePanelTitle() === 'h1' ? 'Next in the inbox' : 'Close it'}</Button>
      </p>
    </article>
  );
}
