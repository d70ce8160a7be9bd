import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { RESOLUTIONS, type ResolutionKind } from '../../../contract/decision';
import { useKeys } from '../../state/use-keys';
import type { ResolveChoice } from './doubt';

const ANSWERS: Readonly<Record<ResolutionKind, { title: string; does: string; send: string }>> = {
  happened: {
    title: 'It happened',
    does: 'The turn goes on with what you say it returned. Nothing runs.',
    send: 'Say that it happened',
  },
  'did-not': {
    title: 'It did not happen',
    does: 'The model is told that it failed and goes on from there. Nothing runs.',
    send: 'Say that it did not',
  },
  'run-again': {
    title: 'Run it again',
    does: 'It is started once more with the same arguments. If it did happen before, it then happens twice.',
    send: 'Run it again',
  },
};

interface AnswersProps {
  reason: string;
  setReason: (reason: string) => void;
  isSending: boolean;
  resolve: (choice: ResolveChoice) => void;
}

/** Choose one, then send it. None is chosen beforehand. */
export function Answers({ reason, setReason, isSending, resolve }: AnswersProps): JSX.Element {
  const [chosen, setChosen] = useState<ResolutionKind>();
  const [content, setContent] = useState('');
  useKeys(
    Object.fromEntries(RESOLUTIONS.map((kind, index) => [String(index + 1), () => choose(kind, setChosen)])),
  );
  const submit = (event: Event): void => {
    event.preventDefault();
    if (chosen !== undefined && !isSending) resolve({ resolution: chosen, content });
  };
  return (
    <form class="answers" onSubmit={submit}>
      <fieldset>
        <legend>What happened?</legend>
        {RESOLUTIONS.map((kind, index) => (
          <Choice key={kind} {...{ kind, index, isChosen: chosen === kind, choose: () => setChosen(kind) }} />
        ))}
      </fieldset>
      {chosen === 'happened' && (
        <Lines
          id="content"
          label="What it returned, as far as you know"
          rows={3}
          text={content}
          setText={setContent}
        />
      )}
      <Lines id="reason" label="How you know" rows={1} text={reason} setText={setReason} />
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

interface ChoiceProps {
  kind: ResolutionKind;
  index: number;
  isChosen: boolean;
  choose: () => void;
}

function Choice({ kind, index, isChosen, choose: onChoose }: ChoiceProps): JSX.Element {
  return (
    <label class={`answer${isChosen ? ' chosen' : ''}`}>
      <input id={`answer-${kind}`} type="radio" name="resolution" checked={isChosen} onChange={onChoose} />
      <span>
        <strong>{ANSWERS[kind].title}</strong> <kbd>{index + 1}</kbd>
        <span class="does">{ANSWERS[kind].does}</span>
      </span>
    </label>
  );
}

interface LinesProps {
  id: string;
  label: string;
  rows: number;
  text: string;
  setText: (text: string) => void;
}

function Lines({ id, label, rows, text, setText }: LinesProps): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        maxLength={4_000}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </div>
  );
}

function choose(kind: ResolutionKind, setChosen: (kind: ResolutionKind) => void): void {
  setChosen(kind);
  document.getElementById(`answer-${kind}`)?.focus();
}
