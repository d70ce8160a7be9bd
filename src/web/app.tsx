import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Session } from '../server/api';
import { readSession, signIn, signOut } from './api/http';
import { signInCode } from './model/route';
import { Shell } from './screens/shell';
import { SignInScreen } from './screens/sign-in';

type State = { at: 'asking' } | { at: 'out'; problem?: string } | { at: 'in'; session: Session };

/** The whole page: the sign-in, or the desk of who is signed in. */
export function App(): JSX.Element {
  const [state, setState] = useState<State>({ at: 'asking' });
  useEffect(() => void open().then(setState), []);
  const leave = (): void => setState({ at: 'out', problem: 'Your session has ended. Sign in again.' });
  if (state.at === 'asking') return <p class="opening">Opening the desk …</p>;
  if (state.at === 'out') {
    const enter = (session: Session): void => setState({ at: 'in', session });
    return <SignInScreen problem={state.problem} enter={enter} />;
  }
  const out = (): void => void signOut().then(() => setState({ at: 'out' }));
  return <Shell session={state.session} signedOut={leave} signOut={out} />;
}

/** A code in the address is used once and taken out of it before anything else. */
async function open(): Promise<State> {
  const code = signInCode(location.hash);
  if (code !== undefined) history.replaceState(null, '', location.pathname);
  const reply = code === undefined ? await readSession() : await signIn({ code });
  if (reply.ok) return { at: 'in', session: reply.data };
  if (reply.status === 401 && code === undefined) return { at: 'out' };
  return { at: 'out', problem: [reply.error.message, reply.error.hint].filter(Boolean).join(' ') };
}
