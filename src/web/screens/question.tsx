import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { completeAnswer, fieldsOf, type Question, type QuestionField } from '../../contract/question';
import { secretFields } from '../../contract/secret/sealed';
import type { JsonObject } from '../../contract/json';
import type { Issue, JsonSchema } from '../../contract/tool';
import type { QuestionOpened } from '../../history/events';
import type { ArgumentsDraft } from '../model/draft';
import type { DecidingProps, KeptTyped } from './call/send';
import { defined } from '../../contract/defined';
import { errorMessage } from '../../contract/errors';
import { isJsonObject } from '../../contract/json';
import { sendAnswer } from '../http';
import { issuesOf } from '../model/draft';
import { useKeys, useNow } from '../ui/app';
import { Text } from '../ui/text';
import { Deadline } from '../ui/widgets';
import { DecisionFooter, focusReason, useFresh } from './call/decide';
import { ArgumentsForm } from './call/form';
import { CallHead, Fact, ModelSays, Refusal, UserAsked } from './call/head';
import { useSend } from './call/send';

type QuestionProps = DecidingProps & { asked: QuestionOpened };

/** The question of an agent, and the form for the answer. The answer runs nothing, so nothing has to be seen first. */
export function QuestionPanel(props: QuestionProps): JSX.Element {
  const { details, call, asked, refusal } = props;
  const form = useForm(asked, props);
  const now = useNow();
  return (
    <article class="call" aria-label={`Question ${call.callId}`}>
      <CallHead view={details.view} call={call}>
        <Refusal text={refusal} />
        <dl class="facts in-line">
          <Fact name="Expires">
            <Deadline of={asked.deadline} now={now} />
          </Fact>
          <Fact name="What it is">
            a question <span class="quiet">your answer lets nothing run; the model reads it</span>
          </Fact>
        </dl>
      </CallHead>
      <section aria-labelledby="question-title">
        <h2 id="question-title">The agent asks</h2>
        <blockquote class="question">
          <Text of={asked.question.text} layout="block" kind="prose" />
        </blockquote>
      </section>
      <section aria-labelledby="answer-title" class="edit" id="edit" onKeyDown={form.onKeyDown}>
        <h2 id="answer-title">Your answer</h2>
        <ArgumentsForm {...form.shown} schema={form.open} />
        {form.secrets.map((secret) => (
          <SecretInput key={secret.field.name} {...secret} />
        ))}
      </section>
      <UserAsked view={details.view} />
      <ModelSays view={details.view} call={call} />
      <AnswerBar {...props} form={form} />
    </article>
  );
}

/**
 * The answer so far. Wrong fields are reported immediately. Missing fields are reported after the person has tried to
 * send the answer.
 */
function useForm(asked: QuestionOpened, { typed, change }: KeptTyped) {
  const { question, callKey } = asked;
  const open = withoutSecrets(question);
  const secrets = useSecrets(question);
  const [isTried, setTried] = useState(false);
  const [refused, setRefused] = useState<readonly Issue[]>([]);
  const from = beginningOf(question);
  const draft = typed.args?.seen === callKey ? typed.args.draft : { value: from, texts: {} };
  const issues = [...issuesOf(draft, open), ...secrets.issues, ...refused];
  const setDraft = (next: ArgumentsDraft): void => {
    change({ args: { draft: next, from, seen: callKey } });
    setRefused([]);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    event.preventDefault();
    document.getElementById('approve')?.click();
  };
  return {
    ...{ issues, onKeyDown, setRefused, open },
    secrets: secrets.inputs.map((input) => ({ ...input, issues: isTried ? issues : [] })),
    sealed: async () => {
      const answer = completeAnswer({ form: open }, draft.value);
      if (secrets.inputs.length === 0) return answer;
      const { sealAnswer } = await import('../../sealing/seal-answer');
      return sealAnswer(asked, { ...answer, ...secrets.values });
    },
    shown: { draft, setDraft, issues: isTried ? issues : issues.filter(({ path }) => path in draft.texts) },
    showIssues: () => {
      setTried(true);
      requestAnimationFrame(() => document.querySelector<HTMLElement>('#edit [aria-invalid=true]')?.focus());
    },
  };
}

/**
 * The values of secret fields. These values exist only in this screen. A reload or a visit to another screen loses
 * them.
 */
function useSecrets(question: Question) {
  const [values, setValues] = useState<Record<string, string>>({});
  const fields = fieldsOf(question).filter((field) => field.secretFor !== undefined);
  return {
    values: Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')),
    inputs: fields.map((field) => ({
      field,
      value: values[field.name] ?? '',
      take: (value: string) => setValues({ ...values, [field.name]: value }),
    })),
    issues: fields
      .filter(({ name, required }) => required && (values[name] ?? '') === '')
      .map(({ name }) => ({ path: `/${name}`, message: 'has to be filled in' })),
  };
}

interface SecretProps {
  field: QuestionField;
  value: string;
  take: (value: string) => void;
  issues: readonly Issue[];
}

function SecretInput({ field, value, take, issues }: SecretProps): JSX.Element {
  const own = issues.filter(({ path }) => path === `/${field.name}`);
  const id = `secret-${field.name}`;
  return (
    <div class={`field kind-text${own.length > 0 ? ' invalid' : ''}`}>
      <div class="field-head">
        <label for={id}>
          <Text of={field.label} />
        </label>
      </div>
      <span class="help" id={`${id}-help`}>
        {field.description !== undefined && <Text of={field.description} layout="block" />}
        <span class="limits">
          secret: only <Text of={(field.secretFor ?? []).join(', ')} /> can read it; the model cannot
        </span>
      </span>
      <input
        id={id}
        type="password"
        autocomplete="off"
        aria-describedby={`${id}-help ${id}-issues`}
        aria-invalid={own.length > 0}
        value={value}
        onInput={({ currentTarget }) => take(currentTarget.value)}
      />
      <ul class="issues" id={`${id}-issues`}>
        {own.map(({ message }) => (
          <li key={message}>{message}</li>
        ))}
      </ul>
    </div>
  );
}

/** The form without its secret fields, which are stored in another way. */
function withoutSecrets({ form }: Question): JsonSchema {
  const secret = secretFields({ form });
  const { properties, required } = form;
  const isOpen = (name: unknown): boolean => typeof name !== 'string' || !secret.has(name);
  return {
    ...form,
    properties: Object.fromEntries(
      Object.entries(isJsonObject(properties) ? properties : {}).filter(([name]) => isOpen(name)),
    ),
    required: Array.isArray(required) ? required.filter(isOpen) : [],
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

function AnswerBar({
  asked,
  form,
  ...props
}: QuestionProps & { form: ReturnType<typeof useForm> }): JSX.Element {
  const { isSending, send } = useSend(props, sendAnswer);
  const fresh = useFresh();
  const now = useNow();
  const isOver = asked.deadline !== null && Date.parse(asked.deadline) <= now;
  useKeys({
    a: () => document.getElementById('approve')?.focus(),
    d: focusReason,
    e: () => document.querySelector<HTMLElement>('#edit :is(input, textarea, select, button)')?.focus(),
  });
  const reason = props.typed.reason.trim() || undefined;
  const head = { callId: asked.callId, callKey: asked.callKey, ...defined({ reason }) };
  const answer = (): void => {
    if (form.issues.length > 0) return form.showIssues();
    form.sealed().then(
      (content) =>
        send({ ...head, answer: 'answered', content }, `Answered: ${asked.summary}`, {
          refused: form.setRefused,
        }),
      (error: unknown) => props.setRefusal(`${errorMessage(error)}. Nothing was sent.`),
    );
  };
  const decline = (): void => send({ ...head, answer: 'declined' }, `Declined: ${asked.summary}`);
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
