import type { JSX } from 'preact';
import { Chip } from '../ui/widgets';
import { counted } from '../../history/labels';
import { DecisionFooter, focusReason } from './call/decide';
import { errorText, refusalText } from '../model/labels';
import { focusToDecide } from '../ui/late-keys';
import { hrefOf } from '../model/route';
import { hunkIds, letsRun, toDecision } from '../model/review';
import { needsText } from '../../contract/text/waits';
import { NOTHING_TYPED } from '../kept-input';
import { Text } from '../ui/text';
import { titleOf } from '../../contract/text/call-title';
import { useState } from 'preact/hooks';
import type { Answer } from '../../server/api';
import { type Reply, newDecisionId, sendDecision } from '../http';
import { BULK, type Reported, type Selection } from '../model/alike';
import { type AppContext, useAppContext, useKeys } from '../ui/app';
import type { Unseen } from '../ui/seen';
import type { Chosen } from './bulk-table';
import { type WhyNot, whyNot } from '../model/may-approve';

const STATES = {
  waits: ['waits', 'quiet'],
  taken: ['taken', 'good'],
  refused: ['refused', 'bad'],
  'not sent': ['not sent', 'ask'],
} as const;

/** Each call that was decided, with its answer. The report stays until it is closed. */
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
  /** The number of requests that are still being read. */
  reading: number;
}

/** One reason and one decision for all selected requests. */
export function Decide({ chosen, unseen, reading }: DecideProps): JSX.Element {
  const context = useAppContext();
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const isHeld = context.held.some(({ key }) => key === BULK);
  const approvable = chosen.filter(({ alone }) => alone === undefined);
  const why =
    reading > 0 ? { text: `Reading ${reading} more …` } : whyNotAll(approvable.length, unseen.count);
  const decide = (kind: 'approve' | 'deny'): void => {
    const list = kind === 'approve' ? approvable : chosen;
    if (isHeld || reading > 0 || list.length === 0) return;
    const word = kind === 'approve' ? 'Approved' : 'Denied';
    const what = `${word} ${counted(list.length, 'call')} of ${list[0]?.item.tool}`;
    const all = list.map((one) => sentOf(one, kind, typed.reason));
    context.hold({ key: BULK, what, back: { at: 'inbox' } }, (isLeft) => sendAll(all, context, isLeft));
  };
  const showNext = (): void => unseen.next()?.scrollIntoView({ block: 'center' });
  useKeys({ a: focusToDecide, d: focusReason, n: showNext });
  return (
    <DecisionFooter
      typed={typed}
      change={(part) => setTyped((last) => ({ ...last, ...part }))}
      why={why}
      showNext={reading === 0 && unseen.next() !== undefined ? showNext : undefined}
      deny={{
        label: `Deny ${chosen.length}`,
        isAllowed: !isHeld && reading === 0 && chosen.length > 0,
        act: () => decide('deny'),
      }}
      approve={{
        label: isHeld ? 'Sending …' : `Approve ${approvable.length}`,
        isAllowed: why === undefined && !isHeld,
        act: () => decide('approve'),
      }}
    />
  );
}

function whyNotAll(approvable: number, unseen: number): WhyNot | undefined {
  if (approvable === 0) return { text: 'None of them can be approved together with others.' };
  const rest = { fresh: false, hidden: 0, confirmed: true, issues: 0, hunksLeft: true, expired: false };
  return whyNot({ ...rest, unseen });
}

/** A decision to send, with the call in one line. */
interface Sent extends Pick<Reported, 'turn' | 'callId' | 'summary'> {
  body: Parameters<typeof sendDecision>[1];
}

/**
 * Makes the decision on one call. It carries the digest of the request that the person saw, so it is refused if the
 * call has changed meanwhile.
 */
function sentOf({ item, request, runId }: Chosen, kind: 'approve' | 'deny', reason: string): Sent {
  const { turn, callId } = item;
  const decision = toDecision(request, kind, { hunks: hunkIds(request), reason });
  const summary = titleOf(request);
  const body = { ...decision, runId, decisionId: newDecisionId() };
  return { turn, callId, summary, body };
}

type Sending = Pick<AppContext, 'session' | 'select' | 'carefully' | 'fail' | 'follow' | 'notify'>;

/**
 * Sends the decisions one after the other, and reports each. If the server does not answer, the remaining decisions are
 * not sent.
 */
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
  for (const [at, { turn, callId, summary, body }] of all.entries()) {
    if (isLeft()) break;
    const reply = await carefully((signal) => sendDecision(turn, body, signal));
    show((one, index) => (index === at ? { ...one, ...outcomeOf(reply, context.session.user) } : one));
    if (reply.ok && letsRun(reply.data)) follow({ turn, callId, what: summary });
    if (reply.ok) continue;
    if (reply.status === 401) fail(reply);
    if (reply.status === 0 || reply.status === 401 || reply.status >= 500) break;
  }
  show((one) => (one.state === 'waits' ? { ...one, state: 'not sent' } : one));
  const isGood = report.every(({ state }) => state === 'taken');
  notify({ text: reportText(report), tone: isGood ? 'good' : 'bad' });
}

function outcomeOf(reply: Reply<Answer>, user: string): Pick<Reported, 'state' | 'text'> {
  if (!reply.ok) return { state: 'not sent', text: errorText(reply.error) };
  const answer = reply.data;
  if (answer.status === 'refused') return { state: 'refused', text: refusalText(answer.verdict, user) };
  if (answer.status === 'recorded')
    return { state: 'taken', text: 'recorded; it takes effect if a worker takes it up before the deadline' };
  const { decision, needs } = answer.verdict;
  return { state: 'taken', text: needs === undefined ? decision : `${decision}; ${needsText(needs)}` };
}
