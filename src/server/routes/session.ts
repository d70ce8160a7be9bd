import { Hono } from 'hono';
import { z } from 'zod';
import type { Session, SignIn } from '../api';
import type { AppDeps } from '../deps';
import { readBody } from '../guard/body';
import { clearSession, credentialsOf, setSession, type Env } from '../guard/signed-in';

const secret = z.string().min(1).max(200);
const signInSchema: z.ZodType<SignIn> = z.union([
  z.strictObject({ token: secret }),
  z.strictObject({ code: secret }),
]);

/** Signing in: the one thing that somebody unknown may do. */
export function signInRoutes(deps: AppDeps): Hono<Env> {
  return new Hono<Env>().post('/', async (c) => {
    const signIn = await readBody(c, signInSchema);
    const { who, secret } = await deps.door.signIn(signIn, credentialsOf(c).from);
    setSession(c, secret);
    return c.json(sessionOf(deps, who.user));
  });
}

/** One's own session. */
export function ownSessionRoutes(deps: AppDeps): Hono<Env> {
  return new Hono<Env>()
    .get('/', (c) => c.json(sessionOf(deps, c.get('who').user)))
    .delete('/', (c) => {
      deps.door.signOut(c.get('credentials').session ?? '');
      clearSession(c);
      return c.body(null, 204);
    });
}

function sessionOf({ desk, version }: AppDeps, user: string): Session {
  return { user, namespace: desk.namespace, version };
}
