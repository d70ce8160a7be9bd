import { useMemo } from 'preact/hooks';
import { titleOf } from '../../contract/text/call-title';
import { span } from '../../contract/text/times';
import type { TranscriptEntry } from '../../contract/transcript';
import type { TurnEvent } from '../../history/events';
import { describePhase, describeState } from '../../history/labels';
import { stateAfter } from '../../history/moment';
import { type CallView, isWaiting, type TurnView } from '../../history/view-types';
import { Files, Text } from '../ui/text';
import { Chip } from '../ui/widgets';
import { ArgumentsView } from './call/content';
import { CallName } from './call/head';

/**
 * The turn after its first `count` events: its open requests, its calls, and what the model knew. A person cannot
 * decide anything here.
 */
export function MomentView({ events, count }: { events: readonly TurnEvent[]; count: number }) {
  const { view, transcript, at, eventId } = useMemo(() => stateAfter(events, count), [events, count]);
  const { entries, known } = transcript;
  const after = span(Date.parse(at) - Date.parse(view.startedAt));
  return (
    <section class="moment-view" aria-labelledby="moment-title">
      <header class="section-head">
        <h2 id="moment-title">
          As it was at event #{eventId} <span class="quiet">{after} after its start</span>
        </h2>
        <Chip of={describeState(view.status)} />
      </header>
      <Open view={view} />
      <Messages title="The model knew" entries={entries.slice(0, known)} />
      {entries.length > known && <Messages title="Since then" entries={entries.slice(known)} />}
    </section>
  );
}

/** The requests that were open at that moment, and the other calls of the unfinished step. */
function Open({ view }: { view: TurnView }) {
  const last = view.steps.at(-1)?.step;
  const calls = view.endedAt === null ? view.calls.filter(({ step }) => step === last) : [];
  if (calls.length === 0) return null;
  return (
    <>
      <h3>Its open step</h3>
      <ul class="moment-calls">
        {calls.map((call) => (
          <OpenCall key={call.callId} call={call} />
        ))}
      </ul>
    </>
  );
}

function OpenCall({ call }: { call: CallView }) {
  return (
    <li>
      <p class="call-line">
        <CallName {...call} /> <Chip of={describePhase(call)} />
      </p>
      {isWaiting(call) && <ArgumentsView of={call.effective} />}
    </li>
  );
}

interface MessagesProps {
  title: string;
  entries: readonly TranscriptEntry[];
}

function Messages({ title, entries }: MessagesProps) {
  return (
    <>
      <h3>{title}</h3>
      {entries.length === 0 && <p class="quiet">Nothing: it had not been asked.</p>}
      <ol class="messages">
        {entries.map((entry, index) => (
          <Message key={index} entry={entry} />
        ))}
      </ol>
    </>
  );
}

const WHO = { words: 'The user', reply: 'The model', result: 'Result' } as const;

function Message({ entry }: { entry: TranscriptEntry }) {
  const text = entry.kind === 'result' ? entry.content : entry.text;
  return (
    <li class={`message of-${entry.kind}`}>
      <span class="who-said">
        {WHO[entry.kind]}
        {entry.kind === 'result' && ` of ${entry.callId}`}
        {entry.kind === 'result' && !entry.success && <Chip of={['error', 'bad']} />}
      </span>
      <div class="said-text">
        {text.trim() !== '' && (
          <p class={entry.kind === 'result' ? 'code block' : 'prose'}>
            <Text of={text.trimEnd()} layout="block" kind={entry.kind === 'result' ? 'exact' : 'prose'} />
          </p>
        )}
        {entry.kind === 'words' && <Files of={entry.files} />}
        {entry.kind === 'reply' &&
          entry.calls.map((call) => (
            <p key={call.callId} class="code">
              → <Text of={titleOf(call)} />
            </p>
          ))}
      </div>
    </li>
  );
}
