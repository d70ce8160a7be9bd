import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Session } from '../server/api';
import { readSession, signIn, signOut } from './api/http';
import { errorWords } from './model/error-words';
import { signInCode } from './model/route';
import { Shell } from './screens/shell';
import { SignInScreen } from './screens/sign-in';

interface State {
  /** Who was signed in last: the desk stays as it is under a new sign-in, with what was typed. */
  session?: Session;
  isOpen: boolean;
  /** Until the first answer came there is nothing to show. */
  isAsking?: boolean;
  problem?: string;
}

const ENDED = 'Your session has ended. Sign in again; what you typed is kept.';

/** The whole page: the sign-in, or the desk of who is signed in. */
export function App(): JSX.Element {
  const [state, setState] = useState<State>({ isOpen: false, isAsking: true });
  useEffect(() => void open().then(setState), []);
  const { session, isOpen, problem } = state;
  const leave = useCallback(() => setState((last) => ({ ...last, isOpen: false, problem: ENDED })), []);
  if (state.isAsking === true) return <p class="opening">Opening the desk …</p>;
  const out = (): void => void signOut().then(() => setState({ isOpen: false }));
  return (
    <>
      {!isOpen && (
        <SignInScreen problem={problem} enter={(entered) => setState({ session: entered, isOpen: true })} />
      )}
      {session !== undefined && (
        <div class="desk" hidden={!isOpen} key={session.user}>
          <Shell session={session} isOpen={isOpen} signedOut={leave} signOut={out} />
        </div>
      )}
    </>
  );
}

/** A code in the address is used once and taken out of it before anything else. */
async function open(): Promise<State> {
  const code = signInCode(location.hash);
  if (code !== undefined) history.replaceState(null, '', location.pathname);
  const reply = code === undefined ? await readSession() : await signIn({ code });
  if (reply.ok) return { session: reply.data, isOpen: true };
  if (reply.status === 401 && code === undefined) return { isOpen: false };
  return { isOpen: false, problem: errorWords(reply.error) };
}
