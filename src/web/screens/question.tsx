import { useState } from 'preact/hooks';
import { completeAnswer, fieldsOf, type Question, WORDS_COUNT } from '../../contract/question';
import type { JsonObject } from '../../contract/json';
import type { Issue } from '../../contract/tool';
import type { QuestionOpened } from '../../history/events';
import { callTitle } from '../../history/labels';
import { type ArgumentsDraft, issuesOf } from '../model/draft';
import { type DecidingProps, type KeptTyped, useSend } from './call/send';
import type { AnswerBody } from '../../server/api';
import { poster } from '../http';
import { useKeys, useNow } from '../ui/app';
import { focusToDecide } from '../ui/late-keys';
import { Text } from '../ui/text';
import { Deadline } from '../ui/widgets';
import { DecisionFooter, focusReason, useFresh } from './call/decide';
import { ArgumentsForm } from './call/form';
import { CallHead, ModelSays, Refusal, UserAsked } from './call/head';

const sendAnswer = poster<AnswerBody>('answers');

type QuestionProps = DecidingProps & { asked: QuestionOpened };

/** The question of an agent, and the form for the answer. The answer runs nothing, so nothing has to be seen first. */
export function QuestionPanel(props: QuestionProps) {
  const { details, call, asked, refusal } = props;
  const form = useForm(asked, props);
  const mayAnswer = details.offers.includes('answer');
  return (
    <article class="call" aria-label={`Question ${call.callId}`}>
      <CallHead view={details.view} call={call} wants={<Deadline of={asked.deadline} />}>
        <Refusal text={refusal} />
        <p class="quiet">A question: your answer lets nothing run. {WORDS_COUNT}</p>
      </CallHead>
      <section aria-labelledby="question-title">
        <h2 id="question-title">The agent asks</h2>
        <blockquote class="question">
          <Text of={asked.question.text} layout="block" kind="prose" />
        </blockquote>
      </section>
      {mayAnswer ? (
        <section aria-labelledby="answer-title" class="edit" id="edit" onKeyDown={form.onKeyDown}>
          <h2 id="answer-title">Your answer</h2>
          <ArgumentsForm {...form.shown} schema={asked.question.form} />
        </section>
      ) : (
        <p class="banner">You may only look: others answer it.</p>
      )}
      <UserAsked view={details.view} />
      <ModelSays view={details.view} call={call} />
      {mayAnswer && <AnswerBar {...props} form={form} />}
    </article>
  );
}

/**
 * The answer so far. Wrong fields are reported immediately. Missing fields are reported after the person has tried to
 * send the answer.
 */
function useForm(asked: QuestionOpened, { typed, change }: KeptTyped) {
  const { question, callKey } = asked;
  const [isTried, setTried] = useState(false);
  const [refused, setRefused] = useState<readonly Issue[]>([]);
  const from = beginningOf(question);
  const draft = typed.args?.seen === callKey ? typed.args.draft : { value: from, texts: {} };
  const issues = [...issuesOf(draft, question.form), ...refused];
  const setDraft = (next: ArgumentsDraft) => {
    change({ args: { draft: next, from, seen: callKey } });
    setRefused([]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    event.preventDefault();
    document.getElementById('approve')?.click();
  };
  return {
    issues,
    onKeyDown,
    setRefused,
    content: completeAnswer(question, draft.value),
    shown: { draft, setDraft, issues: isTried ? issues : issues.filter(({ path }) => path in draft.texts) },
    showIssues: () => {
      setTried(true);
      requestAnimationFrame(() => document.querySelector<HTMLElement>('#edit [aria-invalid=true]')?.focus());
    },
  };
}

/** The first values of the form: the defaults, and false for a box that is not ticked. */
function beginningOf(question: Question): JsonObject {
  const boxes = fieldsOf(question).filter(({ kind, required }) => kind === 'boolean' && required);
  return completeAnswer(
    question,
    Object.fromEntries(boxes.map((field) => [field.name, field.default ?? false])),
  );
}

/** Nothing prevents an answer. A screen reader reads nothing then. */
const NOTHING = { text: '' };
const TOO_LATE = 'It cannot be answered any more.';

function AnswerBar({ asked, form, ...props }: QuestionProps & { form: ReturnType<typeof useForm> }) {
  const { isSending, send } = useSend(props, sendAnswer);
  const fresh = useFresh();
  const now = useNow();
  const isOver = asked.deadline !== null && Date.parse(asked.deadline) <= now;
  useKeys({
    a: focusToDecide,
    d: focusReason,
    e: () => document.querySelector<HTMLElement>('#edit :is(input, textarea, select, button)')?.focus(),
  });
  const reason = props.typed.reason.trim() || undefined;
  const head = { callId: asked.callId, callKey: asked.callKey, reason };
  const answer = () => {
    if (form.issues.length > 0) return form.showIssues();
    const { content, setRefused: refused } = form;
    send({ ...head, answer: 'answered', content }, `Answered: ${callTitle(props.call)}`, { refused });
  };
  const decline = () => send({ ...head, answer: 'declined' }, `Declined: ${callTitle(props.call)}`);
  return (
    <DecisionFooter
      {...props}
      isEdited
      why={isOver ? { text: 'It expired: nobody answered in time.', spoken: TOO_LATE } : NOTHING}
      showNext={undefined}
      deny={{ label: 'Decline', isAllowed: !isSending, isFresh: fresh, act: decline }}
      approve={{
        label: isSending ? 'Sending …' : 'Answer',
        isAllowed: !isSending && !isOver && !fresh,
        act: answer,
      }}
    />
  );
}
