import { useEffect, useRef, useState } from 'preact/hooks';
import type { InboxItem, InboxSession } from '../../server/api';
import { useInboxRows } from '../inbox-rows';
import { grouped, keyOf } from '../model/inbox';
import { type MessageDraft, messageName } from '../model/conversation';
import { titleIn } from '../../contract/text/call-title';
import { hrefOf, queryOf } from '../model/route';
import { loadTyped } from '../kept-input';
import { useAppContext } from '../ui/app';
import type { Held } from '../ui/held';
import { Text } from '../ui/text';
import { CallPanel } from './call/call';
import { AroundPanel, isFocusLost } from './call/head';
import { Button, Ago } from '../ui/widgets';

/** The most rows that are listed. The inbox also has the rows that are not listed here. */
const MOST = 50;

interface AsksProps {
  session: string;
  /** Whether the person reads the end of the conversation. */
  isAtEnd: { readonly current: boolean };
}

/**
 * The items of a conversation and of its child turns that wait for a person. One of them at a time is open, in the
 * panel of the inbox.
 */
export function Asks({ session, isAtEnd }: AsksProps) {
  const { inbox, fail, session: signedIn } = useAppContext();
  const { page } = useInboxRows({ query: queryOf({ session }), offset: 0, limit: MOST }, inbox, fail);
  const rows = page?.rows ?? [];
  const isWriting = () => isMessageKept(signedIn, session);
  const { open, show, close, decided, opened } = useOpen(rows, isAtEnd, isWriting);
  const others = rows.filter((item) => open === undefined || placeIn(item) !== placeIn(open));
  const more = (page?.matching ?? 0) - rows.length;
  if (open === undefined && others.length === 0) return null;
  return (
    <section class="asks" aria-label="Waits for a person">
      {open && (
        <div class="asked">
          <p class="asked-head">
            <a href={hrefOf({ at: 'call', turn: open.turn, callId: open.callId })}>Open in the inbox</a>
            <Button look="plain" onClick={close}>
              Fold up
            </Button>
          </p>
          <AroundPanel.Provider value={{ opened }}>
            <CallPanel
              key={placeIn(open)}
              turn={open.turn}
              callId={open.callId}
              decided={() => decided(open)}
            />
          </AroundPanel.Provider>
        </div>
      )}
      {others.map((item) => (
        <Row key={keyOf(item)} item={item} show={() => show(item)} />
      ))}
      {more > 0 && (
        <p>
          <a href={hrefOf({ at: 'inbox', query: queryOf({ text: session }) })}>
            {grouped(more)} more in the inbox
          </a>
        </p>
      )}
    </section>
  );
}

/** What a click on a folded item leads to. */
const OPENS = { request: 'Decide', question: 'Answer', in_doubt: 'Resolve' } as const;

function Row({ item, show }: { item: InboxItem; show: () => void }) {
  const { held } = useAppContext();
  const isHeld = held.some(({ key }) => key === placeIn(item));
  return (
    <button class="ask-row" type="button" onClick={show}>
      <span class="chip ask">{item.kind === 'in_doubt' ? 'in doubt' : item.kind}</span>{' '}
      <code>
        <Text of={titleIn(item)} />
      </code>
      <span class="button">{OPENS[item.kind]}</span>
      <span class="row-foot">
        <Text of={item.agent} /> asks for <Text of={item.tool} /> · <Ago at={item.since} />
        {isHeld && ' · decided by you, not sent yet'}
      </span>
    </button>
  );
}

/** The name of a call, in the form that held decisions use. */
function placeIn({ turn, callId }: InboxItem) {
  return `${turn}/${callId}`;
}

/**
 * The name of an item. It differs from the name of an earlier item of the same call: a call in doubt has the same key
 * as its request.
 */
function nameOf(item: InboxItem) {
  return `${item.kind} ${item.since} ${keyOf(item)}`;
}

/** Why a panel is open: the person opened it, or the item has just come and opened by itself. */
type Why = 'wanted' | 'came';

/**
 * Chooses the open item. The first item that comes opens by itself, unless the person is writing a message or has
 * folded an item up. An open item stays open until the person decides it here or folds it up, even if somebody decides
 * it elsewhere.
 */
function useOpen(rows: readonly InboxItem[], isAtEnd: AsksProps['isAtEnd'], isWriting: () => boolean) {
  const { held } = useAppContext();
  const [open, setOpen] = useState<InboxItem>();
  const [mayCome, setMayCome] = useState(true);
  const done = useRef(new Set<string>()).current;
  const why = useRef<Why>(undefined);
  const now = useRef({ rows, held, open });
  now.current = { rows, held, open };
  const nextFree = () => firstFree(now.current, done);
  const set = (item: InboxItem | undefined, because: Why) => {
    why.current = because;
    setOpen(item);
    if (item === undefined) requestAnimationFrame(toComposer);
  };
  const show = (item: InboxItem) => {
    setMayCome(true);
    set(item, 'wanted');
  };
  const first = open === undefined && mayCome ? nextFree() : undefined;
  useEffect(() => {
    if (first && !isWriting()) set(first, 'came');
  }, [first && nameOf(first)]);
  useUndone((key) => {
    const item = rows.find((one) => placeIn(one) === key);
    if (item === undefined) return;
    done.delete(nameOf(item));
    show(item);
  });
  return {
    open,
    show,
    close: () => {
      setMayCome(false);
      set(undefined, 'wanted');
    },
    /** Goes on to the next item, unless the person has already left `item`. */
    decided: (item: InboxItem) => {
      done.add(nameOf(item));
      if (now.current.open === item) set(nextFree(), 'wanted');
    },
    opened: (title: HTMLElement) => {
      const because = why.current;
      why.current = undefined;
      const isShown = because === 'wanted' || (because === 'came' && isAtEnd.current);
      if (isShown) title.scrollIntoView({ block: 'start' });
      if (because === 'wanted' || (because === undefined && isFocusLost()))
        title.focus({ preventScroll: true });
    },
  };
}

/** The first item that the person has not decided yet. */
function firstFree(
  { rows, held }: { rows: readonly InboxItem[]; held: readonly Held[] },
  done: ReadonlySet<string>,
): InboxItem | undefined {
  const isHeld = (item: InboxItem) => held.some(({ key }) => key === placeIn(item));
  return rows.find((item) => !done.has(nameOf(item)) && !isHeld(item));
}

/** Calls `take` for each held decision that was dropped and not sent. */
function useUndone(take: (key: string) => void) {
  const { held } = useAppContext();
  const before = useRef(held);
  useEffect(() => {
    const undone = before.current.find(
      ({ key, due }) => due !== undefined && held.every((one) => one.key !== key),
    );
    before.current = held;
    if (undone) take(undone.key);
  }, [held]);
}

/**
 * Whether the person has typed a message. A panel that opened now would push the message away. We read the tab's
 * storage and not the field, because the composer may load later.
 */
function isMessageKept(by: InboxSession, session: string) {
  const { text = '' } = loadTyped<MessageDraft>(by, messageName(session)) ?? {};
  return text.trim() !== '';
}

/** Moves the focus to the composer if the focused element is gone. */
function toComposer() {
  if (isFocusLost()) document.querySelector<HTMLElement>('textarea#say')?.focus({ preventScroll: true });
}
