import type { JSX } from 'preact';
import type { CallView } from '../../../history/view-types';
import { issuesOf } from '../../model/form/draft';
import { draftFor, WAY_WORDS, waysFor, whyNotFork, type ForkDraft, type Way } from '../../model/fork';
import { Text } from '../../parts/text';
import { EditArguments } from '../call/edit';

interface FormProps {
  call: CallView;
  draft: ForkDraft;
  setDraft: (draft: ForkDraft) => void;
  isSending: boolean;
  problem: string | undefined;
  cancel: () => void;
  start: () => void;
}

/** What is to be otherwise, which model goes on, and whether for real. */
export function ForkForm(props: FormProps): JSX.Element {
  const { call, draft, setDraft, isSending, problem, cancel, start } = props;
  const why = whyNotFork(draft, call);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (why === undefined && !isSending) start();
  };
  return (
    <form class="fork-form" onSubmit={submit}>
      <fieldset>
        <legend class="sr-only">What if</legend>
        {waysFor(call).map((way) => (
          <WayChoice key={way} way={way} chosen={draft.way} choose={() => setDraft({ ...draft, way })} />
        ))}
      </fieldset>
      <Details {...{ call, draft, setDraft }} />
      <ModelField {...{ draft, setDraft }} />
      <LiveField {...{ draft, setDraft }} />
      <p class="problem" role="status">
        {why ?? (problem !== undefined && <Text of={problem} />)}
      </p>
      <div class="buttons">
        <button class="button" type="button" onClick={cancel}>
          Cancel
        </button>
        <button
          class={`button ${draft.live ? 'danger' : 'primary'}`}
          type="submit"
          disabled={why !== undefined || isSending}
        >
          {draft.live ? 'Fork for real' : 'Fork without effects'}
        </button>
      </div>
    </form>
  );
}

function WayChoice({ way, chosen, choose }: { way: Way; chosen: Way; choose: () => void }): JSX.Element {
  return (
    <label class="way">
      <input type="radio" name="way" checked={way === chosen} onChange={choose} />
      <span>… {WAY_WORDS[way]}?</span>
    </label>
  );
}

type Part = Pick<FormProps, 'draft' | 'setDraft'>;

/** What belongs to the chosen way. */
function Details({ call, draft, setDraft }: Part & Pick<FormProps, 'call'>): JSX.Element | null {
  switch (draft.way) {
    case 'arguments':
      return (
        <EditArguments
          draft={draft.args}
          setDraft={(args) => setDraft({ ...draft, args })}
          schema={call.request?.schema}
          issues={issuesOf(draft.args, call.request?.schema)}
          close={() => setDraft({ ...draft, args: draftFor(call).args })}
        />
      );
    case 'approved':
    case 'denied':
      return (
        <Lines
          id="fork-reason"
          label="Reason, which the model reads"
          text={draft.reason}
          setText={(reason) => setDraft({ ...draft, reason })}
        />
      );
    case 'reply':
      return (
        <Lines
          id="fork-reply"
          label="The model's answer; the turn ends with it"
          text={draft.reply}
          setText={(reply) => setDraft({ ...draft, reply })}
        />
      );
    case 'same':
      return null;
  }
}

interface LinesProps {
  id: string;
  label: string;
  text: string;
  setText: (text: string) => void;
}

function Lines({ id, label, text, setText }: LinesProps): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={2}
        maxLength={4_000}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </div>
  );
}

function ModelField({ draft, setDraft }: Part): JSX.Element {
  return (
    <div class="field">
      <label for="fork-model">Model from here on</label>
      <input
        id="fork-model"
        maxLength={200}
        placeholder="the agent's own"
        value={draft.model}
        aria-describedby="fork-model-help"
        onInput={({ currentTarget }) => setDraft({ ...draft, model: currentTarget.value })}
      />
      <span class="help" id="fork-model-help">
        One of the agent's models, by name.
      </span>
    </div>
  );
}

function LiveField({ draft, setDraft }: Part): JSX.Element {
  return (
    <label class="way">
      <input
        type="checkbox"
        checked={draft.live}
        onChange={({ currentTarget }) => setDraft({ ...draft, live: currentTarget.checked })}
      />
      <span>
        For real
        <span class="does">
          {draft.live
            ? 'New calls run. Dangerous ones wait for decisions of their own.'
            : 'Not ticked: calls with an effect are written down as what would run.'}
        </span>
      </span>
    </label>
  );
}
