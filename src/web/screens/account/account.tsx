import { useEffect, useRef, useState } from 'preact/hooks';
import type { InboxSession } from '../../../server/api';
import { readSession } from '../../http';
import { hrefOf, type Route } from '../../model/route';
import { storedTheme, storeTheme, type Theme } from '../../theme';
import { useAppContext } from '../../ui/app';
import { Text } from '../../ui/text';
import { Button, Dialog } from '../../ui/widgets';
import { Fact } from '../call/head';

const ROLES: Readonly<Record<InboxSession['role'], string>> = {
  viewer: 'viewer: may only look',
  approver: 'approver: decides what the rules let you',
  admin: 'admin',
};

const LINKS: readonly (readonly [label: string, to: Route])[] = [
  ['Decided by you', { at: 'named', name: 'decided' }],
  ['Grants', { at: 'named', name: 'grants' }],
  ['Notifications', { at: 'named', name: 'push' }],
];

interface AccountProps {
  help: () => void;
  signOut: () => void;
}

/** The content of the account menu: who is signed in, and what belongs to them. */
export function Account({ help, signOut }: AccountProps) {
  const ref = useRef<HTMLDivElement>(null);
  const session = useToday(ref);
  const close = (): void => ref.current?.closest<HTMLElement>('[popover]')?.hidePopover();
  const then = (act: () => void) => () => {
    // The focus goes back to the button that opened the menu. So the focus also returns to this button when a dialog
    // closes.
    close();
    act();
  };
  return (
    <div ref={ref}>
      <Who {...session} />
      <ul>
        {LINKS.map(([label, to]) => (
          <li key={label}>
            <a class="button plain" href={hrefOf(to)} onClick={close}>
              {label}
            </a>
          </li>
        ))}
        <li>
          <Button look="plain" onClick={then(help)}>
            Keys <kbd aria-hidden="true">?</kbd>
          </Button>
        </li>
        <li>
          <ThemeSwitch />
        </li>
        <li>
          <Button look="plain" onClick={then(signOut)}>
            Sign out
          </Button>
        </li>
      </ul>
      <p class="quiet">
        Countersign {session.version}, namespace <Text of={session.namespace} />
      </p>
    </div>
  );
}

/** The session as it is now. It is read each time the menu opens, because the approvers file may have changed. */
function useToday(ref: { current: HTMLElement | null }): InboxSession {
  const { session } = useAppContext();
  const [now, setNow] = useState(session);
  useEffect(() => {
    const look = (): void => void readSession().then((reply) => reply.ok && setNow(reply.data));
    const menu = ref.current?.closest('[popover]');
    menu?.addEventListener('beforetoggle', look);
    return () => menu?.removeEventListener('beforetoggle', look);
  }, []);
  return now;
}

/** The person who is signed in, as the server knows them. */
function Who({ user, role, agents, inFile }: InboxSession) {
  return (
    <dl class="facts">
      <Fact name="Signed in as">
        <Text of={user} />
      </Fact>
      <Fact name="Role">{ROLES[role]}</Fact>
      {inFile && inFile.person !== user && (
        <Fact name="Votes as">
          <Text of={inFile.person} />
        </Fact>
      )}
      {inFile && (
        <Fact name="Groups">
          {inFile.groups.length === 0 ? 'none' : <Text of={inFile.groups.join(', ')} />}
        </Fact>
      )}
      {agents && (
        <Fact name="Sees the agents">{agents.length === 0 ? 'none' : <Text of={agents.join(', ')} />}</Fact>
      )}
    </dl>
  );
}

/** The themes, each with its sign and the next theme. */
const THEMES = {
  system: ['◐', 'light'],
  light: ['☀', 'dark'],
  dark: ['☾', 'system'],
} as const satisfies Record<Theme, readonly [string, Theme]>;

/** A button that changes the theme. The browser stores the choice. */
function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  const [sign, next] = THEMES[theme];
  const change = () => {
    setTheme(next);
    document.documentElement.dataset['theme'] = next;
    storeTheme(next);
  };
  return (
    <Button
      look="plain"

      aria-label={`Theme: ${theme}. Switch to ${next}`}
      onClick={change}
    >
      Theme: {theme} <span aria-hidden="true">{sign}</span>
    </Button>
  );
}

/** The keys of the page, and what they do. */
const KEYS: readonly (readonly [string, string])[] = [
  ['j / k', 'next, previous in the list'],
  ['Enter', 'open it'],
  ['/', 'search the inbox or the turns'],
  ['n', 'scroll to what was not in sight yet'],
  ['a, then Enter', 'approve; what you changed is approved with the changes'],
  ['e', 'change the arguments'],
  ['d, then Ctrl+Enter', 'deny, with a reason'],
  ['i', 'say what the model should do instead'],
  ['Ctrl+Enter in a changed field', 'approve with the changes'],
  ['1 … 9', 'tick or untick a hunk'],
  ['1, 2, 3', 'for a call in doubt: it happened, it did not, run it again'],
  ['x', 'select it, to decide several at once'],
  ['z', 'undo a decision that is not sent yet'],
  ['u', 'the whole turn'],
  ['Esc', 'leave a field; back'],
  ['g', 'the inbox'],
  ['t', 'turns'],
  ['c', 'conversations'],
  ['s', 'stats'],
  ['?', 'this list'],
];

/** The list of keys. */
export function HelpDialog({ close }: { close: () => void }) {
  return (
    <Dialog titleId="keys-title" close={close}>
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <Button type="submit">Close</Button>
      </form>
    </Dialog>
  );
}
