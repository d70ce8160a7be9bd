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
          <label key={kind} class={`answer${chosen === kind ? ' chosen' : ''}`}>
            <input
              id={`answer-${kind}`}
              type="radio"
              name="resolution"
              checked={chosen === kind}
              onChange={() => setChosen(kind)}
            />
            <span>
              <strong>{ANSWERS[kind].title}</strong> <kbd>{index + 1}</kbd>
              <span class="does">{ANSWERS[kind].does}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {chosen === 'happened' && (
        <div class="field">
          <label for="content">What it returned, as far as you know</label>
          <textarea
            id="content"
            rows={3}
            value={content}
            onInput={({ currentTarget }) => setContent(currentTarget.value)}
          />
        </div>
      )}
      <div class="field">
        <label for="reason">How you know</label>
        <textarea
          id="reason"
          rows={1}
          maxLength={4_000}
          value={reason}
          onInput={({ currentTarget }) => setReason(currentTarget.value)}
        />
      </div>
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

function choose(kind: ResolutionKind, setChosen: (kind: ResolutionKind) => void): void {
  setChosen(kind);
  document.getElementById(`answer-${kind}`)?.focus();
}
