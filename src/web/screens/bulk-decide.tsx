import type { JSX } from 'preact';
import type { Answer } from '../../server/api';
import type { Reply } from '../http';
import { BULK, type Reported, type Selection } from '../model/alike';
import type { AppContext } from '../ui/app';
import type { Unseen } from '../ui/text';
import {
  byteNote,
  callSummary,
  Chip,
  counted,
  errorText,
  hrefOf,
  hunkIds,
  Key,
  LIMITS,
  newDecisionId,
  NOTHING_TYPED,
  Reason,
  refusalText,
  sendDecision,
  Text,
  toDecision,
  useAppContext,
  useKeys,
  useState,
  whyNot,
} from '../shared';
import type { Chosen } from './bulk-table';

const STATES = {
  waits: ['waits', 'quiet'],
  taken: ['taken', 'good'],
  refused: ['refused', 'bad'],
  'not sent': ['not sent', 'ask'],
} as const;

/** Each call that was decided, and its answer. It stays until it is closed. */
export function Report({ of }: { of: readonly Reported[] }): JSX.Element {
  const { select } = useAppContext();
  return (
    <section aria-labelledby="report-title">
      <div class="section-head">
        <h2 id="report-title">
          <span role="status">{reportText(of)}</span>
        </h2>
        <button class="button plain" type="button" onClick={() => select((last) => ({ items: last.items }))}>
          Close the report
        </button>
      </div>
      <div role="log" aria-label="Report">
        <ul class="said">
          {of.map(({ turn, callId, summary, state, text }) => (
            <li key={`${turn}/${callId}`}>
              <Chip of={STATES[state]} />{' '}
              <a href={hrefOf({ at: 'call', turn, callId })}>
                <Text of={summary} />
              </a>{' '}
              <Text of={text} />
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function reportText(of: readonly Reported[]): string {
  const counts = Object.keys(STATES).map((state) => ({
    state,
    count: of.filter((one) => one.state === state).length,
  }));
  return counts.flatMap(({ state, count }) => (count === 0 ? [] : [`${count} ${state}`])).join(', ');
}

interface DecideProps {
  chosen: readonly Chosen[];
  unseen: Unseen;
  /** How many are not read yet. */
  reading: number;
}

/** What is decided about all of them, and what stands in its way. */
function useDeciding({ chosen, unseen, reading }: DecideProps) {
  const context = useAppContext();
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const [isWhyAsked, setWhyAsked] = useState(false);
  const isHeld = context.held.some(({ key }) => key === BULK);
  const approvable = chosen.filter(({ alone }) => alone === undefined);
  const { isOver, text } = byteNote(typed.reason, LIMITS.reasonBytes);
  const isWhyMissing = typed.reason.trim() === '';
  const askWhy = (): void => document.getElementById('reason')?.focus();
  const decide = (kind: 'approve' | 'deny'): void => {
    const list = kind === 'approve' ? approvable : chosen;
    if (isOver) return askWhy();
    if (isHeld || reading > 0 || list.length === 0) return;
    const word = kind === 'approve' ? 'Approved' : 'Denied';
    const what = `${word} ${counted(list.length, 'call')} of ${list[0]?.item.tool}`;
    const all = list.map((one) => sentOf(one, kind, typed.reason));
    context.hold({ key: BULK, what, back: { at: 'inbox' } }, (isLeft) => sendAll(all, context, isLeft));
  };
  // As for one: the first click without a reason asks for it.
  const deny = (): void => {
    if (!isWhyMissing || isWhyAsked) return decide('deny');
    setWhyAsked(true);
    askWhy();
  };
  return {
    ...{ typed, setTyped, isHeld, approvable: approvable.length, isOver, askWhy, decide, deny },
    note: isWhyAsked && isWhyMissing ? 'Say why, or press Deny again.' : text,
    why: reading > 0 ? `Reading ${reading} more …` : whyNotAll(approvable.length, unseen.count),
    mayDeny: !isHeld && reading === 0 && chosen.length > 0,
  };
}

/** One reason and one decision for all. */
export function Decide(props: DecideProps): JSX.Element {
  const { unseen, reading } = props;
  const deciding = useDeciding(props);
  const { typed, setTyped, isOver, note, why, decide, askWhy } = deciding;
  const showNext = (): void => unseen.next()?.scrollIntoView({ block: 'center' });
  useKeys({ a: () => document.getElementById('approve')?.focus(), d: askWhy, n: showNext });
  return (
    <footer class="decision-bar" aria-label="Decide">
      <p class="why" id="why">
        {why}
        {reading === 0 && unseen.next() !== undefined && (
          <button class="button plain" type="button" onClick={showNext}>
            Show it <Key of="n" />
          </button>
        )}
      </p>
      <p class={`note${isOver ? ' bad' : ''}`} id="reason-note" role="status">
        {note}
      </p>
      <Reason
        typed={typed}
        change={(part) => setTyped((last) => ({ ...last, ...part }))}
        isOver={isOver}
        isEdited={false}
        deny={() => decide('deny')}
      />
      <Buttons {...deciding} all={props.chosen.length} />
    </footer>
  );
}

type ButtonsProps = ReturnType<typeof useDeciding> & { all: number };

function Buttons({ all, approvable, why, isHeld, mayDeny, decide, deny }: ButtonsProps): JSX.Element {
  const mayApprove = why === undefined && !isHeld;
  return (
    <div class="buttons">
      <button
        class="button danger"
        type="button"
        aria-keyshortcuts="d"
        disabled={!mayDeny}
        onClick={({ detail }) => (detail > 1 ? undefined : deny())}
      >
        Deny {all} <Key of="d" />
      </button>
      <button
        id="approve"
        class="button primary"
        type="button"
        aria-disabled={!mayApprove}
        aria-describedby="why"
        aria-keyshortcuts="a"
        onClick={() => (mayApprove ? decide('approve') : undefined)}
      >
        {isHeld ? 'Sending …' : `Approve ${approvable}`} <Key of="a" />
      </button>
    </div>
  );
}

function whyNotAll(approvable: number, unseen: number): string | undefined {
  if (approvable === 0) return 'None of them can be approved together with others.';
  const rest = { fresh: false, hidden: 0, confirmed: true, issues: 0, hunksLeft: true, expired: false };
  return whyNot({ ...rest, unseen });
}

/** A decision as it is sent, and the call in one line. */
interface Sent extends Pick<Reported, 'turn' | 'callId' | 'summary'> {
  body: Parameters<typeof sendDecision>[1];
  lets: boolean;
}

/** It names what the person saw, so a call that changed meanwhile refuses it. */
function sentOf({ item, request, runId }: Chosen, kind: 'approve' | 'deny', reason: string): Sent {
  const { turn, callId } = item;
  const decision = toDecision(request, kind, { hunks: hunkIds(request), reason });
  const summary = callSummary(request);
  const body = { ...decision, runId, decisionId: newDecisionId() };
  return { turn, callId, summary, body, lets: kind === 'approve' };
}

type Sending = Pick<AppContext, 'select' | 'carefully' | 'fail' | 'follow' | 'notify'>;

/** Sends one after the other, and reports each. It ends where nobody answers: the rest is not sent. */
async function sendAll(all: readonly Sent[], context: Sending, isLeft: () => boolean): Promise<void> {
  const { select, carefully, fail, follow, notify } = context;
  let report: readonly Reported[] = all.map(({ turn, callId, summary }) => {
    return { turn, callId, summary, state: 'waits', text: '' };
  });
  const show = (change: (one: Reported, index: number) => Reported, rest: Partial<Selection> = {}): void => {
    report = report.map(change);
    select((last) => ({ ...last, ...rest, report }));
  };
  show((one) => one, { items: [] });
  for (const [at, { turn, callId, summary, body, lets }] of all.entries()) {
    if (isLeft()) break;
    const reply = await carefully((signal) => sendDecision(turn, body, signal));
    show((one, index) => (index === at ? { ...one, ...outcomeOf(reply) } : one));
    if (reply.ok && lets && reply.data.status === 'accepted') follow({ turn, callId, what: summary });
    if (reply.ok) continue;
    if (reply.status === 401) fail(reply.status, reply.error);
    if (reply.status === 0 || reply.status === 401 || reply.status >= 500) break;
  }
  show((one) => (one.state === 'waits' ? { ...one, state: 'not sent' } : one));
  const isGood = report.every(({ state }) => state === 'taken');
  notify({ text: reportText(report), tone: isGood ? 'good' : 'bad' });
}

function outcomeOf(reply: Reply<Answer>): Pick<Reported, 'state' | 'text'> {
  if (!reply.ok) return { state: 'not sent', text: errorText(reply.error) };
  const answer = reply.data;
  if (answer.status === 'refused') return { state: 'refused', text: refusalText(answer.verdict) };
  if (answer.status === 'recorded')
    return { state: 'taken', text: 'recorded; it takes effect when a worker returns' };
  return { state: 'taken', text: answer.verdict.decision };
}
