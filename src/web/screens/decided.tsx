import { useState } from 'preact/hooks';
import { dateTime } from '../../contract/text/times';
import { describePhase, howKnown, hunksText, wordsBy } from '../../history/labels';
import type { DecidedAnswer, DecidedCall, LoggedRefusal } from '../../server/api';
import { decidedFits, type DecidedFilter, FACETS, peopleIn } from '../model/decided';
import { REFUSAL_LABELS } from '../model/labels';
import { useAppContext, usePolled } from '../ui/app';
import { ListRow, ListScreen } from '../ui/list';
import { Code, Reason, Text } from '../ui/text';
import { Button, Chip, SearchField, Select, When } from '../ui/widgets';

/** The decisions of the signed-in user, and how the calls ended. */
export function DecidedScreen() {
  const { session } = useAppContext();
  const [isAll, setAll] = useState(false);
  const [filter, setFilter] = useState<DecidedFilter>({ facet: '', by: '', text: '' });
  const { data: answer } = usePolled<DecidedAnswer>(`api/decided${isAll ? '?of=all' : ''}`);
  const calls = answer?.calls ?? [];
  const fitting = decidedFits(calls, filter);
  return (
    <ListScreen
      name="decided"
      title={<>Decided by {isAll ? 'people' : <Text of={session.user} />}</>}
      rows={answer && fitting}
      draw={(one) => (
        <DecidedRow key={`${one.turn}/${one.callId}/${one.approver}/${one.what}`} {...one} isNamed={isAll} />
      )}
      none={calls.length === 0 ? 'Nothing yet.' : 'Nothing fits.'}
    >
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
            ...(isAll ? peopleIn(calls).map((name) => [name, `by ${name}`] as const) : []),
          ]}
          choose={(by) => {
            setAll(by !== 'own');
            setFilter({ ...filter, by: by === 'own' || by === 'all' ? '' : by });
          }}
        />
        {FACETS.map(([facet, label]) => (
          <Button
            key={facet}
            look="toggle"

            aria-pressed={filter.facet === facet}
            onClick={() => setFilter({ ...filter, facet })}
          >
            {label}
          </Button>
        ))}
      </div>
      <p>
        <a href="#/passkeys">Make a passkey</a> to sign what you decide.
      </p>
      {answer && (
        <p class="quiet">
          From{' '}
          {answer.isCut
            ? 'the newest turns, and those that you decided in here'
            : `all ${answer.looked} turns`}
          , whichever way the decision came.
        </p>
      )}
    </ListScreen>
  );
}

function DecidedRow({ isNamed, ...one }: DecidedCall & { isNamed: boolean }) {
  const { turn, callId, summary, what, at, reason, suggestion, hunks, message, approver } = one;
  return (
    <ListRow
      to={{ at: 'call', turn, callId }}
      title={<Text of={summary} />}
      chips={<Chip of={describePhase(one)} />}
    >
      {isNamed ? <Text of={wordsBy(what, approver)} /> : what === 'granted' ? 'ran by your grant' : what}
      {hunksText(hunks)} · <When at={at} />
      {howKnown(one) !== 'signed in' && ` · ${howKnown(one)}`} · <Code of={`${turn}/${callId}`} />
      {message !== undefined && ' · '}
      {message !== undefined && <Text of={message} />}
      <Reason of={reason} />
      <Reason of={suggestion} />
    </ListRow>
  );
}

/** Decisions and resolutions that this web inbox sent and that were refused. History does not have them. */
export function RefusedScreen() {
  const { data: refusals } = usePolled<LoggedRefusal[]>('api/refusals');
  return (
    <ListScreen
      name="refused"
      title="Refused decisions"
      rows={refusals}
      draw={(one) => <RefusedRow key={`${one.at}/${one.turn}/${one.callId}/${one.user}`} {...one} />}
      none="None was refused."
    >
      <p class="quiet">Those that were sent by this web inbox, of every person. Nothing ran by them.</p>
    </ListScreen>
  );
}

function RefusedRow({ at, user, turn, callId, what, code, standing }: LoggedRefusal) {
  return (
    <ListRow
      to={{ at: 'call', turn, callId }}
      title={
        <>
          <Text of={user} />: {REFUSAL_LABELS[code]}
        </>
      }
      chips={<Chip of={[code.replaceAll('_', ' '), 'bad']} />}
    >
      a {what} · <When at={at} /> · <Code of={`${turn}/${callId}`} />
      {standing && ' · '}
      {standing && <Text of={`${standing.decision} by ${standing.approver}, ${dateTime(standing.at)}`} />}
    </ListRow>
  );
}
