import type { ResolutionBody } from '../../../server/api';
import { poster } from '../../http';
import type { CallView } from '../../../history/view-types';
import { useAppContext, useKeys } from '../../ui/app';
import { type DecidingProps, useSend } from './send';
import { ArgumentsView, DecidedPreview } from './content';
import { allowedBy } from '../../../history/decisions';
import { keyOfStart } from '../../../history/view';
import { CallHead, Fact, ModelSays, Refusal, UserAsked } from './head';
import { callTitle, describeProgress, howKnown } from '../../../history/labels';
import { whoDecides } from '../../model/labels';
import type { InDoubtOpened } from '../../../history/events';
import { LinesInput } from './inputs';
import { LeftOver, whatHappened } from './edit';
import { LIMITS } from '../../../contract/limits';
import { NOTHING_TYPED } from '../../kept-input';
import { Code, Text } from '../../ui/text';
import { Button, Key, When } from '../../ui/widgets';
import { type ResolutionKind, RESOLUTIONS } from '../../../contract/decision';

const resolve = poster<ResolutionBody>('resolutions');

type DoubtProps = DecidingProps & { doubt: InDoubtOpened };

/** A call that was started and whose outcome is unknown: its facts, and the three answers. */
export function DoubtPanel(props: DoubtProps) {
  const { details, call, doubt, refusal, typed, change } = props;
  const { session } = useAppContext();
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
          {doubt.progress && (
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
      {props.details.offers.length > 0 ? (
        <Answers {...props} />
      ) : (
        <p class="banner">
          <Text of={`Others say what happened: ${whoDecides(props.details, session)}.`} />
        </p>
      )}
    </article>
  );
}

/**
 * The facts that a person looks up elsewhere: when the call started, who let it run, and the key that its handler was
 * given.
 */
function DoubtFacts({ call }: { call: CallView }) {
  const by = allowedBy(call);
  const key = keyOfStart(call);
  return (
    <dl class="facts">
      <Fact name="Started">
        {call.startedAt === undefined ? 'at an unknown time' : <When at={call.startedAt} />}
      </Fact>
      {by && (
        <Fact name={by.type === 'resolved' ? 'Run again by' : 'Approved by'}>
          <Text of={by.approver} />
          <span class="quiet">
            {howKnown(by)}, <When at={by.at} />
          </span>
        </Fact>
      )}
      {key !== undefined && (
        <Fact name="Idempotency key" isWide>
          <Code of={key} />
          <span class="quiet">Its handler was given this key: where it passed it on, look for it there.</span>
        </Fact>
      )}
    </dl>
  );
}

/**
 * The answer that the person has chosen, and what chooses and sends it. At first no answer is chosen, nor is one after
 * the call was started again.
 */
function useAnswer(props: DoubtProps) {
  const { call, doubt, typed, change } = props;
  const { content, how } = typed;
  const { generation } = call;
  const chosen = typed.generation === generation ? typed.answer : undefined;
  const { isSending, send } = useSend(props, resolve);
  const choose = (kind: ResolutionKind) => {
    change({ answer: kind, generation });
    document.getElementById(`answer-${kind}`)?.focus();
  };
  const offered = RESOLUTIONS.filter((kind) => props.details.offers.includes(kind));
  useKeys(Object.fromEntries(offered.map((kind, index) => [String(index + 1), () => choose(kind)])));
  const submit = (event: Event) => {
    event.preventDefault();
    if (chosen === undefined || isSending) return;
    const returned = (chosen === 'happened' && content) || undefined;
    const { callId, callKey } = doubt;
    const more = { reason: how.trim() || undefined, content: returned };
    send(
      { callId, callKey, generation, resolution: chosen, ...more },
      `${ANSWERS[chosen].title}: ${callTitle(call)}`,
    );
  };
  return { offered, chosen, choose, submit, isSending };
}

/** The person chooses an answer, then sends it. */
function Answers(props: DoubtProps) {
  const { change } = props;
  const { content, how } = props.typed;
  const { offered, chosen, choose, submit, isSending } = useAnswer(props);
  return (
    <form class="decision-bar answers" aria-label="Resolve" onSubmit={submit}>
      <fieldset>
        <legend>What happened?</legend>
        <div class="answer-row">
          {offered.map((kind, index) => (
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
      <Button
        look={chosen === 'run-again' ? 'danger' : 'primary'}
        type="submit"
        disabled={chosen === undefined || isSending}
      >
        {chosen === undefined ? 'Choose one' : ANSWERS[chosen].send}
      </Button>
    </form>
  );
}

/** The answers to a call in doubt. */
const ANSWERS: Readonly<Record<ResolutionKind, { title: string; does: string; send: string }>> = {
  happened: {
    title: 'It happened',
    does: 'The turn goes on with what you say it returned. Nothing runs.',
    send: 'Say that it happened',
  },
  'did-not': {
    title: 'It did not happen',
    does: 'The model reads that it failed and goes on from there. Nothing runs.',
    send: 'Say that it did not',
  },
  'run-again': {
    title: 'Run it again',
    does: 'It is started once more with the same arguments. If it did happen before, it then happens twice.',
    send: 'Run it again',
  },
};

interface ChoiceProps {
  kind: ResolutionKind;
  index: number;
  isChosen: boolean;
  choose: (kind: ResolutionKind) => void;
}

/** One answer that the person can choose. */
function Choice({ kind, index, isChosen, choose }: ChoiceProps) {
  return (
    <label class={`answer${isChosen ? ' chosen' : ''}`}>
      <input
        id={`answer-${kind}`}
        type="radio"
        name="resolution"
        checked={isChosen}
        onChange={() => choose(kind)}
      />
      <span>
        <strong>{ANSWERS[kind].title}</strong> <Key of={String(index + 1)} />
        <span class="does">{ANSWERS[kind].does}</span>
      </span>
    </label>
  );
}
