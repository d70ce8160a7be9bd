import type { JSX } from 'preact';
import { dateTime, relative } from '../../contract/text/times';
import { describeOutcome, describePhase, howKnown, hunksText } from '../../history/labels';
import type { DecidedAnswer, DecidedCall, LoggedRefusal } from '../../server/api';
import { REFUSAL_LABELS } from '../model/labels';
import { hrefOf } from '../model/route';
import { useAppContext, useNow, usePolled } from '../ui/app';
import { Reason, Text } from '../ui/text';
import { Chip } from '../ui/widgets';

/** The decisions of the signed-in user, and how the calls ended. */
export function DecidedScreen(): JSX.Element {
  const { session } = useAppContext();
  const { data: answer } = usePolled<DecidedAnswer>('api/decided');
  return (
    <section class="turns" aria-labelledby="decided-title">
      <h1 id="decided-title" class="pane-title">
        Decided by <Text of={session.user} />
      </h1>
      <p>
        <a href={hrefOf({ at: 'named', name: 'passkeys' })}>Make a passkey</a> to sign what you decide.
      </p>
      {answer === undefined ? (
        <p class="empty">Reading turns …</p>
      ) : (
        <>
          <p class="quiet">{lookedText(answer)}</p>
          {answer.calls.length === 0 && <p class="empty">Nothing yet.</p>}
          <ul class="turn-list">
            {answer.calls.map((one) => (
              <DecidedRow key={`${one.turn}/${one.callId}`} {...one} />
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

function DecidedRow(one: DecidedCall): JSX.Element {
  const { turn, callId, summary, what, at, reason, hunks, outcome, message } = one;
  const now = useNow();
  return (
    <li>
      <a href={hrefOf({ at: 'call', turn, callId })}>
        <span class="turn-prompt">
          <Text of={summary} />
        </span>
        <Chip of={outcome === undefined ? describePhase(one) : describeOutcome(outcome)} />
        <span class="row-foot">
          {what === 'granted' ? 'ran by your grant' : what}
          {hunksText(hunks)} · {dateTime(at)}, {relative(at, now)}
          {howKnown(one) !== 'signed in' && ` · ${howKnown(one)}`} ·{' '}
          <code>
            <Text of={`${turn}/${callId}`} />
          </code>
          {message !== undefined && ' · '}
          {message !== undefined && <Text of={message} />}
          <Reason of={reason} />
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
          a {what} · {dateTime(at)}, {relative(at, now)} ·{' '}
          <code>
            <Text of={`${turn}/${callId}`} />
          </code>
          {standing !== undefined && ' · '}
          {standing !== undefined && (
            <Text of={`${standing.decision} by ${standing.approver}, ${dateTime(standing.at)}`} />
          )}
        </span>
      </a>
    </li>
  );
}
