import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Session } from '../../server/api';
import { signIn } from '../api/http';
import { errorWords } from '../model/error-words';

/** Asks for a token. */
export function SignInScreen({
  problem,
  enter,
}: {
  problem: string | undefined;
  enter: (session: Session) => void;
}): JSX.Element {
  const [token, setToken] = useState('');
  const [said, setSaid] = useState(problem);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const reply = await signIn({ token: token.trim() });
    if (reply.ok) return enter(reply.data);
    setToken('');
    setSaid(errorWords(reply.error));
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h1 class="brand">Countersign</h1>
        <p>Sign in to see what waits for a decision.</p>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          value={token}
          required
          autofocus
          aria-describedby="token-help"
          aria-invalid={said !== undefined}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <p id="token-help" class="quiet">
          <code>countersign web user add</code> gives you one.
        </p>
        <p role="alert" class="problem">
          {said}
        </p>
        <button class="button primary" type="submit">
          Sign in
        </button>
      </form>
    </main>
  );
}
