import { Attempts } from './attempts';
import { Authenticator, type AuthenticatorParts } from './authenticator';
import { createIssuerTokens } from './issuer-tokens';
import { createOidc, type Oidc, type OidcOptions } from './oidc';
import { type Access, createDirectory, type People } from './people';
import { createProxy } from './proxy';
import { SignInSessions } from './sessions';

/** How people of an approvers file sign in. */
export interface SignInOptions {
  /** The address under which browsers reach the web inbox. */
  publicUrl: string;
  people(): Promise<People>;
  access: Access;
  oidc?: OidcOptions;
  /** A reverse proxy that names the sender of each request in a header. */
  proxy?: Parameters<typeof createProxy>[0];
}

/** Makes an authenticator with sessions of its own, and the way to its issuer. `signIn` undefined: people have tokens and links only. */
export function openAuthenticator(
  signIn: SignInOptions | undefined,
  ways: Pick<AuthenticatorParts, 'users' | 'local' | 'people' | 'signInAt' | 'hint'>,
): { authenticator: Authenticator; oidc: Oidc | undefined } {
  const oidc = signIn?.oidc && createOidc(signIn.oidc, signIn.publicUrl);
  const authenticator = new Authenticator({
    ...ways,
    sessions: new SignInSessions(),
    attempts: new Attempts(),
    directory: signIn && createDirectory(signIn),
    proxy: signIn?.proxy && createProxy(signIn.proxy),
    tokens: signIn?.oidc && oidc && createIssuerTokens(signIn.oidc, oidc),
  });
  return { authenticator, oidc };
}
