import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { dateTime, relative } from '../../contract/text/times';
import { describeOutcome, describePhase, howKnown, hunksText, wordsBy } from '../../history/labels';
import type { DecidedAnswer, DecidedCall, LoggedRefusal } from '../../server/api';
import { decidedFits, type DecidedFilter, type Facet, FACETS } from '../model/decided';
import { REFUSAL_LABELS } from '../model/labels';
import { hrefOf } from '../model/route';
import { useAppContext, useNow, usePolled } from '../ui/app';
import { Code, Reason, Text } from '../ui/text';
import { Chip, SearchField, Select } from '../ui/widgets';

/** The decisions of the signed-in user, and how the calls ended. */
export function DecidedScreen(): JSX.Element {
  const { session } = useAppContext();
  const [isAll, setAll] = useState(false);
  const [filter, setFilter] = useState<DecidedFilter>({ facet: '', by: '', text: '' });
  const { data: answer } = usePolled<DecidedAnswer>(`api/decided${isAll ? '?of=all' : ''}`);
  const calls = answer?.calls ?? [];
  const fitting = decidedFits(calls, filter);
  const people = [...new Set(calls.map(({ approver }) => approver))].sort();
  return (
    <section class="turns" aria-labelledby="decided-title">
      <h1 id="decided-title" class="pane-title">
        Decided by {isAll ? 'people' : <Text of={session.user} />}
      </h1>
      <div class="filters" role="search">
        <SearchField
          id="search"
          label="Search decisions"
          placeholder="Search what it does, arguments, reasons, names"
          value={filter.text}
          change={(text) => setFilter({ ...filter, text })}
        />
        <Select
          id="decided-by"
          label="By whom"
          value={isAll ? filter.by || 'all' : 'own'}
          options={[
            ['own', 'by you'],
            ['all', 'by everybody'],
            ...(isAll ? people.map((name) => [name, `by ${name}`] as const) : []),
          ]}
          choose={(by) => {
            setAll(by !== 'own');
            setFilter({ ...filter, by: by === 'own' || by === 'all' ? '' : by });
          }}
        />
        {FACET_NAMES.map((facet) => (
          <button
            key={facet}
            class="button toggle"
            type="button"
            aria-pressed={filter.facet === facet}
            onClick={() => setFilter({ ...filter, facet })}
          >
            {FACETS[facet]}
          </button>
        ))}
      </div>
      <p>
        <a href={hrefOf({ at: 'named', name: 'passkeys' })}>Make a passkey</a> to sign what you decide.
      </p>
      {answer === undefined ? (
        <p class="empty">Reading turns …</p>
      ) : (
        <>
          <p class="quiet">{lookedText(answer)}</p>
          {fitting.length === 0 && (
            <p class="empty">{calls.length === 0 ? 'Nothing yet.' : 'Nothing fits.'}</p>
          )}
          <ul class="turn-list">
            {fitting.map((one) => (
              <DecidedRow
                key={`${one.turn}/${one.callId}/${one.approver}/${one.what}`}
                {...one}
                isNamed={isAll}
              />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function lookedText({ looked, isCut }: DecidedAnswer): string {
  const turns = isCut ? `the newest turns, and those that you decided in here` : `all ${looked} turns`;
  return `From ${turns}, whichever way the decision came.`;
}

const FACET_NAMES = ['', 'denied', 'failed', 'edited', 'granted'] as const satisfies readonly Facet[];

function DecidedRow({ isNamed, ...one }: DecidedCall & { isNamed: boolean }): JSX.Element {
  const { turn, callId, summary, what, at, reason, suggestion, hunks, outcome, message, approver } = one;
  const now = useNow();
  return (
    <li>
      <a href={hrefOf({ at: 'call', turn, callId })}>
        <span class="turn-prompt">
          <Text of={summary} />
        </span>
        <Chip of={outcome === undefined ? describePhase(one) : describeOutcome(outcome)} />
        <span class="row-foot">
          {isNamed ? <Text of={wordsBy(what, approver)} /> : what === 'granted' ? 'ran by your grant' : what}
          {hunksText(hunks)} · {dateTime(at)}, {relative(at, now)}
          {howKnown(one) !== 'signed in' && ` · ${howKnown(one)}`} · <Code of={`${turn}/${callId}`} />
          {message !== undefined && ' · '}
          {message !== undefined && <Text of={message} />}
          <Reason of={reason} />
          <Reason of={suggestion} />
        </span>
      </a>
    </li>
  );
}

/** Decisions and resolutions that this web inbox sent and that were refused. History does not have them. */
export function RefusedScreen(): JSX.Element {
  const { data: refusals } = usePolled<LoggedRefusal[]>('api/refusals');
  return (
    <section class="turns" aria-labelledby="refused-title">
      <h1 id="refused-title" class="pane-title">
        Refused decisions
      </h1>
      <p class="quiet">Those that were sent by this web inbox, of every person. Nothing ran by them.</p>
      {refusals === undefined && <p class="empty">Reading …</p>}
      {refusals?.length === 0 && <p class="empty">None was refused.</p>}
      <ul class="turn-list">
        {refusals?.map((one) => (
          <RefusedRow key={`${one.at}/${one.turn}/${one.callId}/${one.user}`} {...one} />
        ))}
      </ul>
    </section>
  );
}

function RefusedRow({ at, user, turn, callId, what, code, standing }: LoggedRefusal): JSX.Element {
  const now = useNow();
  return (
    <li>
      <a href={hrefOf({ at: 'call', turn, callId })}>
        <span class="turn-prompt">
          <Text of={user} />: {REFUSAL_LABELS[code]}
        </span>
        <Chip of={[code.replaceAll('_', ' '), 'bad']} />
        <span class="row-foot">
          a {what} · {dateTime(at)}, {relative(at, now)} · <Code of={`${turn}/${callId}`} />
          {standing !== undefined && ' · '}
          {standing !== undefined && (
            <Text of={`${standing.decision} by ${standing.approver}, ${dateTime(standing.at)}`} />
          )}
        </span>
      </a>
    </li>
  );
}
