import type { Oidc, OidcOptions } from './oidc';
import { createProxy, type IdentityProxy } from './proxy';

/** Reads who sends a token of the issuer as the bearer token of a request, as the page of a product does. */
export function createIssuerTokens(
  { issuer, clientId: audience, groupsClaim }: OidcOptions,
  oidc: Pick<Oidc, 'keysAt'>,
): Pick<IdentityProxy, 'identify'> {
  let reader: IdentityProxy | undefined;
  return {
    identify: async (token) => {
      const keys = { url: await oidc.keysAt() };
      const named = { header: 'authorization', issuer, audience, groupsClaim };
      reader ??= createProxy({ ...named, keys, onlyVerifiedMail: true });
      return reader.identify(token);
    },
  };
}
