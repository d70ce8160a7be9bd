import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { span } from '../../../contract/times';
import type { TranscriptEntry } from '../../../contract/transcript';
import type { TurnEvent } from '../../../history/events';
import { stateAfter, type TurnMoment } from '../../../history/state-at';
import { summaryOf } from '../../../history/summary';
import type { CallView, TurnView } from '../../../history/view-types';
import { phaseWords, stateWords } from '../../model/words';
import { Chip } from '../../parts/chip';
import { Text } from '../../parts/text';
import { ArgumentsView } from '../call/arguments';

/** The turn as it was after its first events: what was open, where its calls were, what the model knew. Nothing of it is to be decided now. */
export function MomentView({ events, count }: { events: readonly TurnEvent[]; count: number }): JSX.Element {
  const moment = useMemo(() => stateAfter(events, count), [events, count]);
  const { view, transcript } = moment;
  const { entries, known } = transcript;
  return (
    <section class="moment-view" aria-labelledby="moment-title">
      <MomentHead moment={moment} />
      <Open view={view} />
      <Messages
        title="The model knew"
        entries={entries.slice(0, known)}
        none="Nothing: it had not been asked."
      />
      {entries.length > known && <Messages title="Since then" entries={entries.slice(known)} />}
    </section>
  );
}

function MomentHead({ moment: { view, at, eventId } }: { moment: TurnMoment }): JSX.Element {
  const [words, tone] = stateWords(view.status);
  return (
    <header class="section-head">
      <h2 id="moment-title">
        As it was at event #{eventId}{' '}
        <span class="quiet">{span(Date.parse(at) - Date.parse(view.startedAt))} after its start</span>
      </h2>
      <Chip tone={tone}>{words}</Chip>
    </header>
  );
}

/** What waited for a person then, and the other calls of the step that was not over. */
function Open({ view }: { view: TurnView }): JSX.Element | null {
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

function OpenCall({ call }: { call: CallView }): JSX.Element {
  const [words, tone] = phaseWords(call.phase, call.result?.success);
  const waits = call.phase === 'requested' || call.phase === 'in_doubt';
  return (
    <li>
      <p class="call-line">
        {call.callId}{' '}
        <code>
          <Text of={call.tool} />
        </code>
        <Chip tone={tone}>{words}</Chip>
      </p>
      {waits && <ArgumentsView of={call.effective} />}
    </li>
  );
}

interface MessagesProps {
  title: string;
  entries: readonly TranscriptEntry[];
  none?: string;
}

function Messages({ title, entries, none }: MessagesProps): JSX.Element {
  return (
    <>
      <h3>{title}</h3>
      {entries.length === 0 && <p class="quiet">{none}</p>}
      <ol class="messages">
        {entries.map((entry, index) => (
          <Message key={index} entry={entry} />
        ))}
      </ol>
    </>
  );
}

const WHO = { words: 'The user', reply: 'The model', result: 'Result' } as const;

function Message({ entry }: { entry: TranscriptEntry }): JSX.Element {
  const text = entry.kind === 'result' ? entry.content : entry.text;
  const isError = entry.kind === 'result' && !entry.success;
  return (
    <li class={`message of-${entry.kind}`}>
      <span class="who-said">
        {WHO[entry.kind]}
        {entry.kind === 'result' && ` of ${entry.callId}`}
        {isError && <Chip tone="bad">error</Chip>}
      </span>
      <div class="said-text">
        {text.trim() !== '' && (
          <p class={entry.kind === 'result' ? 'code block' : 'prose'}>
            <Text of={text.trimEnd()} layout="block" />
          </p>
        )}
        {entry.kind === 'reply' &&
          entry.calls.map((call) => (
            <p key={call.callId} class="code">
              → <Text of={summaryOf(call)} />
            </p>
          ))}
      </div>
    </li>
  );
}
