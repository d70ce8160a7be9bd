import type { JSX } from 'preact';
import { Code, Text } from '../ui/text';
import { keyOf } from '../model/inbox';
import { readCall } from '../http';
import { useAppContext } from '../ui/app';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { whyNoBatch, whyNotInBatch } from '../../history/batch';
import type { CallDetails, InboxItem } from '../../server/api';
import { BULK, compareRequests, sumsOfCalls, toggled, withAllAlike } from '../model/alike';
import { type Unseen, WatchSeen } from '../ui/seen';
import { Decide, Report } from './bulk-decide';
import { CallLink, type Chosen, Differences, Same } from './bulk-table';

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
  const choose = (chosen: readonly InboxItem[]): void => select((last) => ({ ...last, items: chosen }));
  return (
    <div class="selection" role="group" aria-label="Selection">
      <strong role="status">{first === undefined ? 'Decided together' : `${items.length} selected`}</strong>
      {first !== undefined && isFree && all.length > items.length && (
        <button class="button" type="button" onClick={() => choose(all)}>
          All {all.length} of <Text of={first.tool} />
        </button>
      )}
      <button class="button" type="button" onClick={look}>
        {first === undefined && report !== undefined ? 'Report' : 'Look at them'}
      </button>
      {first !== undefined && isFree && (
        <button class="button plain" type="button" onClick={() => choose([])}>
          Clear
        </button>
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
export function BulkPanel({ isFirst, back }: PanelProps): JSX.Element {
  const { items, report } = useAppContext().selection;
  const [first] = items;
  const Title = isFirst ? 'h1' : 'h2';
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => (isFirst ? title.current?.focus() : undefined), [isFirst]);
  return (
    <article class="call bulk" aria-label="Selected requests">
      <header class="call-head">
        <p class="crumbs">
          <button class="button plain back" type="button" onClick={back}>
            ← Inbox
          </button>
          {first !== undefined && (
            <span>
              <Text of={first.agent} />
            </span>
          )}
        </p>
        <Title class="call-title" tabIndex={-1} ref={title}>
          {first === undefined ? (
            'Decided together'
          ) : (
            <>
              {items.length} of <Code of={first.tool} />
            </>
          )}
        </Title>
      </header>
      {report !== undefined && <Report of={report} />}
      {first !== undefined && <Selected key={`${first.tool}/${first.agent}`} items={items} />}
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
  const readOn = async (): Promise<void> => {
    running.current++;
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      const one = item;
      const key = keyOf(one);
      const reply = await readCall(one.turn, one.callId);
      const take = (result: Read): void => setRead((last) => new Map(last).set(key, result));
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
function Selected({ items }: { items: readonly InboxItem[] }): JSX.Element {
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

function LeftOut({ of }: { of: readonly { item: InboxItem; never: string }[] }): JSX.Element | null {
  const { select } = useAppContext();
  if (of.length === 0) return null;
  const drop = (): void =>
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
      <button class="button" type="button" onClick={drop}>
        Remove from the selection
      </button>
    </div>
  );
}
