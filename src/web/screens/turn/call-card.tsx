import { useState } from 'preact/hooks';
import { callTitle, describePhase } from '../../../history/labels';
import { without } from '../../../contract/result';
import { span } from '../../../contract/text/times';
import { type CallView, isWaiting } from '../../../history/view-types';
import { hrefOf } from '../../model/route';
import { Button, Chip, Dialog, Opener } from '../../ui/widgets';
import { Text } from '../../ui/text';
import { ArgumentsView, DecidedPreview, Outcome } from '../call/content';
import { send, turnPath } from '../../http';
import { errorText } from '../../model/labels';
import { isChanged, issuesOf } from '../../model/draft';
import { draftFor, type ForkDraft, toForkBody, waysFor, whyNotFork } from '../../model/fork-draft';
import { LIMITS } from '../../../contract/limits';
import type { StartedForkAnswer } from '../../../server/api';
import { goTo, useAppContext, useKept } from '../../ui/app';
import { EditArguments } from '../call/edit';
import { CallName } from '../call/head';
import { LinesInput } from '../call/inputs';

const WAY_LABELS: Readonly<Record<ForkDraft['way'], string>> = {
  arguments: 'the call had other arguments',
  approved: 'it had been approved',
  denied: 'it had been denied',
  reply: 'the model had answered instead',
  same: 'nothing were different, except the model below',
};

/** The texts that a person writes for a fork. */
const WAY_TEXTS = {
  reason: { label: 'Reason, which the model reads', mostBytes: LIMITS.reasonBytes },
  reply: { label: "The model's answer; the turn ends with it", mostBytes: LIMITS.outputBytes },
};

interface CardProps {
  turn: string;
  call: CallView;
  isOpen: boolean;
  toggle: () => void;
}

/** One call in a line. When opened, it shows arguments, decisions and result. */
export function CallCard({ turn, call, isOpen, toggle }: CardProps) {
  return (
    <div class="call-card" id={`call-${call.callId}`} tabIndex={-1}>
      <div class="call-line">
        <Button look="plain" aria-expanded={isOpen} onClick={toggle}>
          <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> <CallName {...call} />
        </Button>
        <Chip of={describePhase(call)} />
        {!isOpen && (
          <code class="call-summary quiet">
            <Text of={without(`${call.tool} `, callTitle(call))} />
          </code>
        )}
        {call.durationMs !== undefined && <span class="quiet">{span(call.durationMs)}</span>}
        <Opener
          label="What if …"
          look="plain what-if"
          aria-label={`What if … at ${call.callId}`}
          dialog={(close) => <WhatIfDialog {...{ turn, call, close }} />}
        />
        {isWaiting(call) && (
          <a class="button primary" href={hrefOf({ at: 'call', turn, callId: call.callId })}>
            {call.phase === 'request' ? 'Decide' : call.phase === 'question' ? 'Answer' : 'Resolve'}
          </a>
        )}
      </div>
      {isOpen && (
        <div class="call-body">
          {!isWaiting(call) && <DecidedPreview call={call} level={3} />}
          <ArgumentsView
            of={call.effective}
            plan={isWaiting(call) ? undefined : call.request?.preview?.plan}
          />
          <Outcome call={call} />
        </div>
      )}
    </div>
  );
}

interface WhatIfProps {
  turn: string;
  call: CallView;
  close: () => void;
}

/** Forks the turn at a call. */
function WhatIfDialog({ turn, call, close }: WhatIfProps) {
  const { value: draft, ...kept } = useKept(`fork/${turn}/${call.callId}`, draftFor(call));
  const { isSending, problem, start } = useStart(turn, call.callId, kept.forget);
  return (
    <Dialog titleId="what-if-title" isWide close={close}>
      <h2 id="what-if-title">
        What if, at <CallName {...call} /> …
      </h2>
      <p class="quiet">
        A new turn takes everything before this call from the record and goes on from here. Nothing that
        happened runs again, and this turn stays as it is.
      </p>
      <ForkForm {...{ call, draft, isSending, problem, start }} setDraft={kept.change} cancel={close} />
    </Dialog>
  );
}

/** Starts a fork and goes to it. If the fork cannot start, the typed text stays. */
function useStart(turn: string, callId: string, forget: () => void) {
  const { notify, fail } = useAppContext();
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const start = async (draft: ForkDraft) => {
    setSending(true);
    setProblem(undefined);
    const body = toForkBody(callId, draft);
    const reply = await send<StartedForkAnswer>('POST', `${turnPath(turn)}/forks`, { body });
    setSending(false);
    if (!reply.ok) {
      if (reply.status === 401) return fail(reply);
      return setProblem(errorText(reply.error));
    }
    forget();
    notify({ text: 'The fork was started; this is it.', tone: 'good' });
    goTo({ at: 'turn', turn: reply.data.turn });
  };
  return { isSending, problem, start };
}

interface FormProps {
  call: CallView;
  draft: ForkDraft;
  setDraft: (draft: ForkDraft) => void;
  isSending: boolean;
  problem: string | undefined;
  cancel: () => void;
  start: (draft: ForkDraft) => Promise<void>;
}

/** The form of a fork: what it changes, its model, and whether it has effects. */
function ForkForm(props: FormProps) {
  const { call, draft, setDraft, isSending, problem, cancel, start } = props;
  const mayFork = useAppContext().session.rights.includes('fork-live');
  const why = whyNotFork(draft, call);
  const submit = (event: Event) => {
    event.preventDefault();
    if (why === undefined && !isSending) void start(draft);
  };
  return (
    <form class="fork-form" onSubmit={submit}>
      <fieldset>
        <legend class="sr-only">What if</legend>
        {waysFor(call).map((way) => (
          <label key={way} class="way">
            <input
              type="radio"
              name="way"
              checked={way === draft.way}
              onChange={() => setDraft({ ...draft, way })}
            />
            <span>… {WAY_LABELS[way]}?</span>
          </label>
        ))}
      </fieldset>
      <Details {...{ call, draft, setDraft }} />
      <ModelField {...{ draft, setDraft }} />
      {mayFork && <LiveField {...{ draft, setDraft }} />}
      <p class="problem" role="status">
        {why ?? (problem !== undefined && <Text of={problem} />)}
      </p>
      <div class="buttons">
        <Button onClick={cancel}>Cancel</Button>
        <Button
          look={draft.live ? 'danger' : 'primary'}
          type="submit"
          disabled={why !== undefined || isSending}
        >
          {draft.live ? 'Fork for real' : 'Fork without effects'}
        </Button>
      </div>
    </form>
  );
}

type Part = Pick<FormProps, 'draft' | 'setDraft'>;

/** The fields of the chosen kind of change. */
function Details({ call, draft, setDraft }: Part & Pick<FormProps, 'call'>) {
  switch (draft.way) {
    case 'arguments':
      return (
        <EditArguments
          draft={draft.args}
          setDraft={(args) => setDraft({ ...draft, args })}
          schema={call.request?.schema}
          issues={issuesOf(draft.args, call.request?.schema)}
          isChanged={isChanged(draft.args, call.effective)}
          close={() => setDraft({ ...draft, args: draftFor(call).args })}
        />
      );
    case 'approved':
    case 'denied':
    case 'reply': {
      const part = draft.way === 'reply' ? 'reply' : 'reason';
      const setText = (text: string) => setDraft({ ...draft, [part]: text });
      return (
        <LinesInput
          key={part}
          id={`fork-${part}`}
          rows={2}
          {...WAY_TEXTS[part]}
          text={draft[part]}
          setText={setText}
        />
      );
    }
    case 'same':
      return null;
  }
}

function ModelField({ draft, setDraft }: Part) {
  return (
    <div class="field">
      <label for="fork-model">Model from here on (one of the agent's, by name)</label>
      <input
        id="fork-model"
        maxLength={200}
        placeholder="the agent's own"
        value={draft.model}
        onInput={({ currentTarget }) => setDraft({ ...draft, model: currentTarget.value })}
      />
    </div>
  );
}

function LiveField({ draft, setDraft }: Part) {
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
