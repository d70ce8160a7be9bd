import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { defined } from '../../../contract/defined';
import { LIMITS } from '../../../contract/limits';
import { isSameName } from '../../../contract/authority/votes';
import { dateTime, relative } from '../../../contract/text/times';
import type { Away, AwaySeen } from '../../../server/api';
import { send } from '../../http';
import { byteNote, errorText, proofText } from '../../model/labels';
import { useAppContext, useNow, usePolled } from '../../ui/app';
import { useSure } from '../../ui/widgets';
import { Reason, Text } from '../../ui/text';
import { isFocusLost } from '../call/head';

/** The screen on which a person says that they are away, and that shows who is. */
export function AwayScreen(): JSX.Element {
  const { data, look } = usePolled<AwaySeen>('/api/away');
  const entries = data?.entries;
  const { session } = useAppContext();
  return (
    <section class="turns" aria-labelledby="away-title">
      <h1 id="away-title" class="pane-title" tabIndex={-1}>
        Out of office
      </h1>
      <p class="quiet">While a person is away, another one votes in their place. The record names both.</p>
      {session.role !== 'viewer' && <Leave look={look} />}
      <h2 class="pane-title">Who is away</h2>
      {entries === undefined && <p class="empty">Reading …</p>}
      {entries?.length === 0 && <p class="empty">Nobody.</p>}
      <ul class="turn-list grants">
        {entries?.map((one) => (
          <Row key={one.id} {...one} look={look} />
        ))}
      </ul>
    </section>
  );
}

function Row({ look, ...entry }: Away & { look: () => Promise<void> }): JSX.Element {
  const { from, to, start, end, reason, signature } = entry;
  const { session } = useAppContext();
  const now = useNow();
  const isOwn = isSameName(from, session.inFile?.person ?? session.user);
  const hasBegun = Date.parse(start) <= now;
  return (
    <li>
      <p>
        <Text of={to} /> votes in the place of <Text of={from} />
      </p>
      <p class="row-foot">
        {!hasBegun && `from ${dateTime(start)} `}until {dateTime(end)} ({relative(end, now)}) ·{' '}
        {proofText(signature)}
        <Reason of={reason} />
      </p>
      {(isOwn || session.role === 'admin') && <End {...entry} look={look} isBack={isOwn && hasBegun} />}
    </li>
  );
}

interface EndProps {
  id: string;
  from: string;
  to: string;
  /** The person ends their own absence, which has begun. */
  isBack: boolean;
  look: () => Promise<void>;
}

/** Ends an out-of-office. The first click only says what the second one does. */
function End({ id, from, to, isBack, look }: EndProps): JSX.Element {
  const { notify, fail } = useAppContext();
  const end = async (): Promise<void> => {
    const reply = await send('DELETE', `/api/away/${encodeURIComponent(id)}`);
    if (!reply.ok) fail(reply.status, reply.error);
    else notify({ text: `Ended. ${to} no longer votes in the place of ${from}.`, tone: 'good' });
    await look();
    // A person who went on meanwhile keeps the focus.
    if (isFocusLost()) document.getElementById('away-title')?.focus();
  };
  const { isAsked, click, forget } = useSure(() => void end());
  return (
    <button class="button danger" type="button" onClick={click} onBlur={forget}>
      {isAsked ? 'End it now' : isBack ? 'I am back …' : 'End it …'}
      <span class="sr-only"> {from}</span>
    </button>
  );
}

const EMPTY = { to: '', start: '', end: '', reason: '' };
type Fields = typeof EMPTY;

const FIELDS: readonly [name: keyof Fields, label: string][] = [
  ['to', 'Who votes in your place'],
  ['start', 'From (now, if empty)'],
  ['end', 'Until'],
  ['reason', 'Reason, which everybody reads (optional)'],
];

/** The form on which a person says that they are away. */
function Leave({ look }: { look: () => Promise<void> }): JSX.Element {
  const { notify } = useAppContext();
  const [fields, setFields] = useState(EMPTY);
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const leave = async (): Promise<void> => {
    setBusy(true);
    const reply = await send<Away>('POST', '/api/away', { body: bodyOf(fields) });
    setBusy(false);
    setProblem(reply.ok ? undefined : errorText(reply.error));
    if (!reply.ok) return;
    setFields(EMPTY);
    const { to, start, end } = reply.data;
    const text = `Saved. ${to} votes in your place from ${dateTime(start)} until ${dateTime(end)}.`;
    notify({ text, tone: 'good' });
    await look();
  };
  return (
    <form
      class="edit"
      aria-label="Say that you are away"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) void leave();
      }}
    >
      <Inputs fields={fields} change={setFields} />
      <p role="alert" class="problem">
        {problem}
      </p>
      <p>
        <button class="button primary" type="submit" aria-disabled={isBusy}>
          I am away
        </button>
      </p>
      <p class="quiet">
        Where a rule wants your own signature, sign it at a terminal: <code>countersign away --sign</code>.
        Said here, it counts as signed in at most.
      </p>
    </form>
  );
}

interface InputsProps {
  fields: Fields;
  change: (fields: Fields) => void;
}

function Inputs({ fields, change }: InputsProps): JSX.Element {
  const note = byteNote(fields.reason, LIMITS.pauseReasonBytes);
  const described = { 'aria-invalid': note.isOver, 'aria-describedby': 'away-note' };
  const field = (name: keyof Fields) => ({
    ...{ id: `away-${name}`, value: fields[name], required: name === 'to' || name === 'end' },
    ...(name === 'reason' ? described : { maxLength: 200 }),
    autocomplete: 'off' as const,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      change({ ...fields, [name]: currentTarget.value }),
  });
  return (
    <>
      {FIELDS.map(([name, label]) => (
        <div class="field" key={name}>
          <label for={`away-${name}`}>{label}</label>
          {name === 'start' || name === 'end' ? (
            <input type="datetime-local" {...field(name)} />
          ) : (
            <input type="text" {...field(name)} />
          )}
        </div>
      ))}
      <p class={`note${note.isOver ? ' bad' : ''}`} id="away-note" role="status">
        {note.text}
      </p>
    </>
  );
}

/** The form as the server takes it. A moment is in the time of this browser. */
function bodyOf({ to, start, end, reason }: Fields): object {
  const moment = (text: string): string | undefined =>
    text === '' ? undefined : new Date(text).toISOString();
  const said = { start: moment(start), end: moment(end), reason: reason.trim() || undefined };
  return { to: to.trim(), ...defined(said) };
}
