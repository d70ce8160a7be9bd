import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { CallDetails } from '../../../server/api';
import type { CallPhase, CallView } from '../../../history/view-types';
import { readCall, sendResolution } from '../../http';
import { goTo, useAppContext, useKept, useKeys, useLate, useNow } from '../../ui/app';
import { RequestPanel } from './request';
import { type DecidingProps, type KeptTyped, type PanelProps, useSend } from './send';
import { ArgumentsView, DecidedPreview, Outcome } from './content';
import { allowedBy, keyOfStart } from '../../../history/view';
import { CallHead, Fact, ModelSays, Refusal, usePanelTitle, UserAsked } from './head';
import { defined } from '../../../contract/defined';
import { useInboxRows } from '../../inbox-rows';
import { queryOf } from '../../model/route';
import { dateTime, relative } from '../../../contract/text/times';
import { describeProgress, howKnown } from '../../../history/labels';
import type { InDoubtOpened, QuestionOpened } from '../../../history/events';
import { LinesInput } from './inputs';
import { ANSWERS, Choice, LeftOver, whatHappened } from './edit';
import { LIMITS } from '../../../contract/limits';
import { NOTHING_TYPED, readTyped } from '../../typed';
import { Text } from '../../ui/text';
import { type ResolutionKind, RESOLUTIONS } from '../../../contract/decision';

/** Phases that end soon if a worker runs, without a decision of a person. */
const PASSING: readonly CallPhase[] = ['proposed', 'replanning', 'approved', 'running', 'lost'];
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
export function CallPanel({ turn, callId, decided }: CallPanelProps): JSX.Element {
  const { details, refresh, problem } = useCall(turn, callId);
  const { value: typed, ...kept } = useKept(`${turn}/${callId}`, NOTHING_TYPED, readTyped);
  useKeys({ u: () => goTo({ at: 'turn', turn }) });
  const call = details?.view.calls.find((one) => one.callId === callId);
  const Title = usePanelTitle();
  if (problem !== undefined) return <Title class="empty problem">{problem}</Title>;
  if (details === undefined) return <Title class="empty">Reading the request …</Title>;
  if (call === undefined) return <Title class="empty">This turn has no call {callId}.</Title>;
  return <Panel {...{ details, call, refresh, decided, typed, ...kept }} />;
}

/** Chooses the panel of a call. The key of a panel is its content: when that changes, a new panel starts empty. */
function Panel(props: PanelProps & KeptTyped): JSX.Element {
  const { call } = props;
  const [refusal, setRefusal] = useState<string>();
  const shared = { ...props, refusal, setRefusal };
  if (call.phase === 'requested' && call.request !== undefined) {
    const { callKey, seenDigest, eventId } = call.request;
    return <RequestPanel key={`${callKey}/${seenDigest}/${eventId}`} request={call.request} {...shared} />;
  }
  if (call.phase === 'asked' && call.question !== undefined) {
    return <LateQuestion key={call.question.callKey} asked={call.question} {...shared} />;
  }
  if (call.phase === 'in_doubt' && call.doubt !== undefined) {
    return <DoubtPanel key={call.doubt.eventId} doubt={call.doubt} {...shared} />;
  }
  return <ClosedPanel {...shared} />;
}

const loadQuestion = () => import('../question');

function LateQuestion(props: DecidingProps & { asked: QuestionOpened }): JSX.Element {
  const late = useLate(loadQuestion, true);
  const Title = usePanelTitle();
  return late === undefined ? <Title class="empty">Opening …</Title> : <late.QuestionPanel {...props} />;
}

function useCall(
  turn: string,
  callId: string,
): { details?: CallDetails; problem?: string; refresh: () => void } {
  const { inbox, fail } = useAppContext();
  const [state, setState] = useState<{ details?: CallDetails; problem?: string }>({});
  const refresh = useCallback(() => {
    void readCall(turn, callId).then((reply) => {
      if (reply.ok) return setState({ details: reply.data });
      // After any other error the screen stays as it is, because the connection may come back.
      if (reply.status === 404) return setState({ problem: reply.error.message });
      fail(reply.status, reply.error);
    });
  }, [turn, callId, fail]);
  // The server does not search for longer texts. We cut the beginning, because the id of the call is at the end.
  const query = queryOf({ text: `${turn}/${callId}`.slice(-200) });
  const { page } = useInboxRows({ query, offset: 0, limit: 20 }, inbox, fail);
  const item = page?.rows.find((one) => one.turn === turn && one.callId === callId);
  // The vote of another person can change what this person may do.
  const votes = JSON.stringify(item?.voting);
  useEffect(refresh, [refresh, item?.callKey, item?.since, item?.kind, votes, inbox.connection === 'live']);
  const phase = state.details?.view.calls.find((call) => call.callId === callId)?.phase;
  const isPassing = phase !== undefined && PASSING.includes(phase);
  useEffect(() => {
    if (!isPassing) return;
    const timer = setInterval(refresh, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isPassing, refresh]);
  return { ...state, refresh };
}

/** A call that does not wait: who decided, what ran, and its result. */
function ClosedPanel({ details, call, refusal, decided: next, typed, forget }: DecidingProps): JSX.Element {
  return (
    <article class="call" aria-label={`Call ${call.callId}`}>
      <CallHead view={details.view} call={call}>
        <Refusal text={refusal} />
        {call.phase === 'replanning' && (
          <p class="banner" role="status">
            A worker makes the new preview. It comes here to be approved; nothing runs before that.
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
        <button class="button" type="button" onClick={next}>
          {usePanelTitle() === 'h1' ? 'Next in the inbox' : 'Close it'}
        </button>
      </p>
    </article>
  );
}

type DoubtProps = DecidingProps & { doubt: InDoubtOpened };

/** A call that was started and whose outcome is unknown: its facts, and the three answers. */
function DoubtPanel(props: DoubtProps): JSX.Element {
  const { details, call, doubt, refusal, typed, change } = props;
  return (
    <article class="call" aria-label={`Call in doubt ${call.callId}`}>
      <CallHead view={details.view} call={call}>
        <Refusal text={refusal} />
        <LeftOver
          typed={{ ...NOTHING_TYPED, reason: typed.reason, args: typed.args }}
          what={whatHappened(call)}
          drop={() => change({ reason: '', args: undefined })}
        />
        <div class="banner ask">
          <p>
            <strong>It was started, and nobody knows whether it happened.</strong> <Text of={doubt.message} />
          </p>
          {doubt.progress !== undefined && (
            <p>
              When it was last heard of: <Text of={describeProgress(doubt.progress)} />
            </p>
          )}
          <p>
            Look where it would have left a trace, then say which it is. Until then nothing runs it again.
          </p>
        </div>
        <DoubtFacts call={call} />
      </CallHead>
      <DecidedPreview call={call} level={2} />
      {doubt.partial !== undefined && (
        <section aria-labelledby="partial-title">
          <h2 id="partial-title">Known so far</h2>
          <pre class="code preview-text">
            <Text of={doubt.partial} layout="block" />
          </pre>
        </section>
      )}
      <section aria-labelledby="started-title">
        <h2 id="started-title">Started with</h2>
        <ArgumentsView of={call.effective} plan={call.request?.preview?.plan} />
      </section>
      <UserAsked view={details.view} />
      <ModelSays view={details.view} call={call} />
      <Answers {...props} />
    </article>
  );
}

/**
 * The facts that a person looks up elsewhere: when the call started, who let it run, and the key that its handler was
 * given.
 */
function DoubtFacts({ call }: { call: CallView }): JSX.Element {
  const by = allowedBy(call);
  const key = keyOfStart(call);
  return (
    <dl class="facts">
      <Fact name="Started">
        {call.startedAt === undefined ? 'at an unknown time' : <When at={call.startedAt} />}
      </Fact>
      {by !== undefined && (
        <Fact name={by.type === 'resolved' ? 'Run again by' : 'Approved by'}>
          <Text of={by.approver} />
          <span class="quiet">
            {howKnown(by)}, <When at={by.at} />
          </span>
        </Fact>
      )}
      {key !== undefined && (
        <Fact name="Idempotency key" isWide>
          <code>
            <Text of={key} />
          </code>
          <span class="quiet">Its handler was given this key: where it passed it on, look for it there.</span>
        </Fact>
      )}
    </dl>
  );
}

/** The time of something, and how long ago that is. */
function When({ at }: { at: string }): JSX.Element {
  const now = useNow();
  return (
    <time dateTime={at}>
      {dateTime(at)}, {relative(at, now)}
    </time>
  );
}

/**
 * The person chooses an answer, then sends it. At first no answer is chosen, nor is one after the call was started
 * again.
 */
function Answers(props: DoubtProps): JSX.Element {
  const { call, doubt, typed, change } = props;
  const { content, how } = typed;
  const { generation } = call;
  const chosen = typed.generation === generation ? typed.answer : undefined;
  const { isSending, send } = useSend(props, sendResolution);
  const choose = (kind: ResolutionKind): void => {
    change({ answer: kind, generation });
    document.getElementById(`answer-${kind}`)?.focus();
  };
  useKeys(Object.fromEntries(RESOLUTIONS.map((kind, index) => [String(index + 1), () => choose(kind)])));
  const submit = (event: Event): void => {
    event.preventDefault();
    if (chosen === undefined || isSending) return;
    const returned = (chosen === 'happened' && content) || undefined;
    const { callId, callKey } = doubt;
    const more = defined({ reason: how.trim() || undefined, content: returned });
    send(
      { callId, callKey, generation, resolution: chosen, ...more },
      `${ANSWERS[chosen].title}: ${doubt.summary}`,
    );
  };
  return (
    <form class="decision-bar answers" aria-label="Resolve" onSubmit={submit}>
      <fieldset>
        <legend>What happened?</legend>
        <div class="answer-row">
          {RESOLUTIONS.map((kind, index) => (
            <Choice key={kind} {...{ kind, index, isChosen: chosen === kind, choose }} />
          ))}
        </div>
      </fieldset>
      {chosen === 'happened' && (
        <LinesInput
          id="content"
          label="What it returned, as far as you know"
          rows={1}
          text={content}
          setText={(content) => change({ content })}
          mostBytes={LIMITS.outputBytes}
        />
      )}
      {chosen !== undefined && (
        <LinesInput id="reason" label="How you know" rows={1} text={how} setText={(how) => change({ how })} />
      )}
      <button
        class={`button ${chosen === 'run-again' ? 'danger' : 'primary'}`}
        type="submit"
        disabled={chosen === undefined || isSending}
      >
        {chosen === undefined ? 'Choose one' : ANSWERS[chosen].send}
      </button>
    </form>
  );
}
