import type { JSX } from 'preact';
import { Code, Text } from '../ui/text';
import { keyOf } from '../model/inbox';
import { readCall, type Reply, newDecisionId, sendDecision } from '../http';
import { useAppContext, type AppContext, useKeys } from '../ui/app';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { whyNoBatch, whyNotInBatch } from '../../history/batch';
import type { CallDetails, InboxItem, Answer } from '../../server/api';
import {
  BULK,
  compareRequests,
  sumsOfCalls,
  toggled,
  withAllAlike,
  type Reported,
  type Selection,
  type AlikeField,
} from '../model/alike';
import { type Unseen, WatchSeen, SeenEnd, SeenText } from '../ui/seen';
import { Button, Chip, Deadline } from '../ui/widgets';
import { counted } from '../../history/labels';
import { DecisionFooter, focusReason } from './call/decide';
import { errorText, refusalText } from '../model/labels';
import { focusToDecide } from '../ui/late-keys';
import { hrefOf } from '../model/route';
import { hunkIds, letsRun, toDecision } from '../model/review';
import { needsText } from '../../contract/text/waits';
import { NOTHING_TYPED } from '../kept-input';
import { titleOf } from '../../contract/text/call-title';
import { type WhyNot, whyNot } from '../model/may-approve';
import { SelectBox } from './inbox-list';
import type { Json } from '../../contract/json';
import type { RequestOpened } from '../../history/events';

interface BarProps {
  /** The rows of the inbox that were read. */
  rows: readonly InboxItem[];
  /** Opens the panel that shows the selection. */
  look: () => void;
}

/** The number of selected requests, with a button that adds all requests that may join them. */
export function SelectionBar({ rows, look }: BarProps): JSX.Element | null {
  const { selection, select, held } = useAppContext();
  const { items, report } = selection;
  const [first] = items;
  const all = withAllAlike(items, rows);
  const isFree = held.every(({ key }) => key !== BULK);
  const choose = (chosen: readonly InboxItem[]) => select((last) => ({ ...last, items: chosen }));
  return (
    <div class="selection" role="group" aria-label="Selection">
      <strong role="status">{first ? `${items.length} selected` : 'Decided together'}</strong>
      {first && isFree && all.length > items.length && (
        <Button onClick={() => choose(all)}>
          All {all.length} of <Text of={first.tool} />
        </Button>
      )}
      <Button onClick={look}>{first === undefined && report ? 'Report' : 'Look at them'}</Button>
      {first && isFree && (
        <Button look="plain" onClick={() => choose([])}>
          Clear
        </Button>
      )}
    </div>
  );
}

interface PanelProps {
  /** Whether the heading of the panel is the first one of the page. */
  isFirst: boolean;
  back: () => void;
}

/** The outcomes of the requests that were decided last, and the current selection. */
export function BulkPanel({ isFirst, back }: PanelProps) {
  const { items, report } = useAppContext().selection;
  const [first] = items;
  const Title = isFirst ? 'h1' : 'h2';
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => (isFirst ? title.current?.focus() : undefined), [isFirst]);
  return (
    <article class="call bulk" aria-label="Selected requests">
      <header class="call-head">
        <p class="crumbs">
          <Button look="plain back" onClick={back}>
            ← Inbox
          </Button>
          {first && (
            <span>
              <Text of={first.agent} />
            </span>
          )}
        </p>
        <Title class="call-title" tabIndex={-1} ref={title}>
          {first ? (
            <>
              {items.length} of <Code of={first.tool} />
            </>
          ) : (
            'Decided together'
          )}
        </Title>
      </header>
      {report && <Report of={report} />}
      {first && <Selected key={`${first.tool}/${first.agent}`} items={items} />}
    </article>
  );
}

/** A call as it was when it was selected, or the reason why it cannot be decided with others. */
type Read = Chosen | { item: InboxItem; never: string };

function readOf(item: InboxItem, { view, changed, ownVote, offers, whyNot }: CallDetails): Read {
  const call = view.calls.find(({ callId }) => callId === item.callId);
  const request = call?.phase === 'request' ? call.request : undefined;
  if (request === undefined) return { item, never: 'it does not wait any more' };
  const never = whyNoBatch(request);
  if (never !== undefined) return { item, never };
  if (ownVote !== undefined) return { item, never: 'you voted on it, and it waits for others' };
  if (!offers.includes('deny')) return { item, never: whyNot ?? 'it is not yours to decide' };
  return {
    item,
    request,
    runId: view.runId,
    alone: whyNotInBatch(request, changed) ?? (offers.includes('approve') ? undefined : whyNot),
  };
}

/** The most calls that are read at the same time. */
const AT_ONCE = 4;

/**
 * The details of the selected items, by their keys. Each item is read only once, so the details do not change while a
 * person looks at them.
 */
function useReading(items: readonly InboxItem[]): ReadonlyMap<string, Read> {
  const { fail, inbox } = useAppContext();
  const [read, setRead] = useState<ReadonlyMap<string, Read>>(new Map());
  const asked = useRef(new Set<string>()).current;
  const waiting = useRef<InboxItem[]>([]).current;
  const running = useRef(0);
  const readOn = async () => {
    running.current++;
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      const one = item;
      const key = keyOf(one);
      const reply = await readCall(one.turn, one.callId);
      const take = (result: Read) => setRead((last) => new Map(last).set(key, result));
      if (reply.ok) take(readOf(one, reply.data));
      else if (reply.status === 404) take({ item: one, never: reply.error.message });
      else {
        asked.delete(key);
        fail(reply);
      }
    }
    running.current--;
  };
  useEffect(() => {
    const fresh = items.filter((item) => !asked.has(keyOf(item)));
    for (const item of fresh) asked.add(keyOf(item));
    waiting.push(...fresh);
    for (let more = Math.min(AT_ONCE - running.current, waiting.length); more > 0; more--) void readOn();
  }, [items, inbox.connection === 'live']);
  return read;
}

/** The selection: fields that are the same in all requests, fields that differ, and one decision for all. */
function Selected({ items }: { items: readonly InboxItem[] }) {
  const read = useReading(items);
  const found = items.flatMap((item) => read.get(keyOf(item)) ?? []);
  const chosen = found.filter((one): one is Chosen => 'request' in one);
  const [unseen, setUnseen] = useState<Unseen>({ count: 1, next: () => undefined });
  const { same, differing, sums } = useMemo(() => {
    const compared = (some: readonly Chosen[]) => compareRequests(some.map(({ request }) => request));
    const together = compared(chosen.filter(({ alone }) => alone === undefined));
    return { ...compared(chosen), sums: sumsOfCalls([...together.same, ...together.differing]) };
  }, [chosen.map(({ item }) => keyOf(item)).join()]);
  return (
    <>
      <LeftOut of={found.flatMap((one) => ('never' in one ? one : []))} />
      {sums.length > 0 && (
        <p>
          Together:{' '}
          {sums.map(({ name, sum }, index) => (
            <span key={name}>
              {index > 0 && ', '}
              <Code of={name} /> {sum.toLocaleString('en', { maximumFractionDigits: 15 })}
            </span>
          ))}
        </p>
      )}
      <WatchSeen report={setUnseen}>
        {differing.length > 0 && <h2 id="differs-title">What differs</h2>}
        {chosen.length > 0 && <Differences {...{ chosen, differing }} />}
        {same.length > 0 && <Same of={same} />}
      </WatchSeen>
      <Decide {...{ chosen, unseen, reading: items.length - found.length }} />
    </>
  );
}

function LeftOut({ of }: { of: readonly { item: InboxItem; never: string }[] }) {
  const { select } = useAppContext();
  if (of.length === 0) return null;
  const drop = () =>
    select((last) => ({ ...last, items: of.reduce((items, { item }) => toggled(items, item), last.items) }));
  return (
    <div class="banner ask" role="alert">
      <p>
        <strong>Not decided with the others:</strong>
      </p>
      <ul>
        {of.map(({ item, never }) => (
          <li key={keyOf(item)}>
            <CallLink item={item} />: <Text of={never} />
          </li>
        ))}
      </ul>
      <Button onClick={drop}>Remove from the selection</Button>
    </div>
  );
}

const STATES = {
  waits: ['waits', 'quiet'],
  taken: ['taken', 'good'],
  refused: ['refused', 'bad'],
  'not sent': ['not sent', 'ask'],
} as const;

/** Each call that was decided, with its answer. The report stays until it is closed. */
function Report({ of }: { of: readonly Reported[] }) {
  const { select } = useAppContext();
  return (
    <section aria-labelledby="report-title">
      <div class="section-head">
        <h2 id="report-title">
          <span role="status">{reportText(of)}</span>
        </h2>
        <Button look="plain" onClick={() => select((last) => ({ items: last.items }))}>
          Close the report
        </Button>
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

function reportText(of: readonly Reported[]) {
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
function Decide({ chosen, unseen, reading }: DecideProps) {
  const context = useAppContext();
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const isHeld = context.held.some(({ key }) => key === BULK);
  const approvable = chosen.filter(({ alone }) => alone === undefined);
  const why =
    reading > 0 ? { text: `Reading ${reading} more …` } : whyNotAll(approvable.length, unseen.count);
  const decide = (kind: 'approve' | 'deny') => {
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
async function sendAll(all: readonly Sent[], context: Sending, isLeft: () => boolean) {
  const { select, carefully, fail, follow, notify } = context;
  let report: readonly Reported[] = all.map(({ turn, callId, summary }) => {
    return { turn, callId, summary, state: 'waits', text: '' };
  });
  const show = (change: (one: Reported, index: number) => Reported, rest: Partial<Selection> = {}) => {
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
  return { state: 'taken', text: needs ? `${decision}; ${needsText(needs)}` : decision };
}

/** A request that is selected and was read. */
interface Chosen {
  item: InboxItem;
  request: RequestOpened;
  runId: string;
  /** Why the request must not be approved together with others. */
  alone: string | undefined;
}

/** A link to a call by its id. */
function CallLink({ item: { turn, callId } }: { item: InboxItem }) {
  return (
    <a href={hrefOf({ at: 'call', turn, callId })}>
      <Text of={`${turn}/${callId}`} />
    </a>
  );
}

/**
 * A table with a row for each call and a column for each field that differs. On a narrow screen each cell names its
 * column.
 */
function Differences({ chosen, differing }: { chosen: readonly Chosen[]; differing: readonly AlikeField[] }) {
  return (
    <div class="differences" role="region" aria-label="Differences" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Call</th>
            {differing.map((field) => (
              <th scope="col" key={`${field.isArgument}${field.name}`}>
                <FieldName of={field} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {chosen.map((one, index) => (
            <tr key={keyOf(one.item)}>
              <RowHead {...one} />
              {differing.map((field) => (
                <td key={`${field.isArgument}${field.name}`}>
                  <span class="cell-name" aria-hidden="true">
                    <FieldName of={field} />
                  </span>
                  <Value of={field.values[index]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The call of a row, and the time that is left to decide it. */
function RowHead({ item, request, alone }: Chosen) {
  return (
    <th scope="row">
      <SelectBox item={item} /> <CallLink item={item} /> <Deadline of={request.deadline} />
      <span class="quiet prompt">
        <Text of={item.prompt} kind="prose" />
      </span>
      {alone !== undefined && (
        <span class="alone">
          Not approved with the others: <Text of={alone} />
        </span>
      )}
    </th>
  );
}

function FieldName({ of: { name, isArgument } }: { of: AlikeField }) {
  return isArgument ? <Code of={name} /> : <>{name}</>;
}

function Value({ of }: { of: Json | undefined }) {
  if (typeof of === 'string' && of !== '')
    return (
      <span class={of.includes('\n') ? 'code block' : 'code'}>
        <SeenText of={of} layout={of.includes('\n') ? 'block' : 'line'} />
      </span>
    );
  return (
    <>
      {of === undefined || of === '' ? (
        <span class="quiet">{of === '' ? '(empty text)' : '(absent)'}</span>
      ) : (
        <code>{JSON.stringify(of)}</code>
      )}
      <SeenEnd />
    </>
  );
}

/** The fields that are the same in all requests, shown once. */
function Same({ of }: { of: readonly AlikeField[] }) {
  return (
    <section aria-labelledby="same-title">
      <h2 id="same-title">The same in all</h2>
      <dl class="leaves">
        {of.map((field) => (
          <div class="leaf" key={`${field.isArgument}${field.name}`}>
            <dt>
              <FieldName of={field} />
            </dt>
            <dd class="text">
              <Value of={field.values[0]} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
