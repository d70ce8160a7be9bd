import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { CountersignError } from '../../contract/errors';
import { outgoingFetch } from '../../system/proxies';
import { groupsIn, plainTextIn, whyNoProxy } from './oidc';
import type { Identity } from './people';

/**
 * A reverse proxy that signs people in. It adds a header to each request, with a JWT that names the sender and that the
 * proxy signed.
 */
interface ProxyOptions {
  /** The name of the header, in lower case. */
  header: string;
  /** The issuer and the audience that the token has to name. */
  issuer: string;
  audience: string;
  /** The public keys of the proxy, or the address at which they are. */
  keys: { url: string } | { set: JSONWebKeySet };
  /** The claim that lists groups. @default groups */
  groupsClaim?: string;
  /** Whether a mail address counts only if the token says that it was verified. @default false */
  onlyVerifiedMail?: boolean;
}

/** Reads the name of the person for whom a proxy vouches. */
export interface IdentityProxy {
  header: string;
  /** @throws CountersignError `sign_in_failed`, `server_failed`. */
  identify(token: string): Promise<Identity>;
}

/** Only algorithms with a public key. With a shared secret, anybody who checks a token could also sign one. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/** The largest difference that is allowed between the clocks of proxy and web inbox, in seconds. */
const CLOCK_S = 30;
const TIMEOUT_MS = 5_000;
const MOST_CHARACTERS = 16_384;

export function createProxy(options: ProxyOptions): IdentityProxy {
  const { header, issuer, audience } = options;
  let loading: Promise<JWTVerifyGetKey> | undefined;
  return {
    header,
    identify: async (token) => {
      if (token.length > MOST_CHARACTERS) throw invalid(header, 'it is too long');
      // The library is loaded only here, because most web inboxes have no such proxy.
      const { jwtVerify } = await import('jose');
      try {
        const { payload } = await jwtVerify(token, await (loading ??= keysOf(options)), {
          issuer,
          audience,
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_S,
          requiredClaims: ['exp'],
        });
        return identityOf(payload, options);
      } catch (error) {
        throw inWords(error, options);
      }
    },
  };
}

async function keysOf({ keys }: ProxyOptions): Promise<JWTVerifyGetKey> {
  const { createLocalJWKSet, createRemoteJWKSet, customFetch } = await import('jose');
  if ('set' in keys) return createLocalJWKSet(keys.set);
  return createRemoteJWKSet(new URL(keys.url), {
    timeoutDuration: TIMEOUT_MS,
    [customFetch]: outgoingFetch,
  });
}

const claimsSchema = z.object({
  sub: z.string().min(1).max(255).optional().catch(undefined),
  email: z.email().max(320).optional().catch(undefined),
  email_verified: z.unknown().optional(),
});

/**
 * The identity that a token names. The proxy vouches for a mail address unless it says that the address was not
 * verified.
 */
function identityOf(
  claims: Readonly<Record<string, unknown>>,
  { header, groupsClaim = 'groups', onlyVerifiedMail: isStrict = false }: ProxyOptions,
): Identity {
  const { sub, email, email_verified: isVerified = !isStrict } = claimsSchema.parse(claims);
  const mail = isVerified === true ? email : undefined;
  if (sub === undefined && mail === undefined) throw invalid(header, 'it names nobody');
  return { groups: groupsIn(claims[groupsClaim]), subject: sub, mail };
}

/** The error of a token, in words. The original error may contain the token, so it is neither kept nor shown. */
function inWords(error: unknown, { header, keys }: ProxyOptions): unknown {
  if (error instanceof CountersignError) return error;
  const [code, claim] = [plainTextIn(error, 'code'), plainTextIn(error, 'claim')];
  switch (code) {
    case 'ERR_JWT_EXPIRED':
      return clockWrong(header);
    case 'ERR_JWT_CLAIM_VALIDATION_FAILED':
      return claim === 'nbf'
        ? clockWrong(header)
        : invalid(header, `its claim \`${claim}\` is not the right one`);
    case 'ERR_JOSE_ALG_NOT_ALLOWED':
      return invalid(header, 'it is not signed by an algorithm that is taken here');
    case 'ERR_JWKS_NO_MATCHING_KEY':
    case 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED':
      return invalid(header, 'none of the keys of the proxy signed it');
    case 'ERR_JWS_INVALID':
    case 'ERR_JWT_INVALID':
    case 'ERR_JOSE_NOT_SUPPORTED':
    case 'ERR_JWKS_MULTIPLE_MATCHING_KEYS':
      return invalid(header, 'its form is wrong');
    default:
      return 'url' in keys
        ? unreachable(keys.url, error)
        : invalid(header, 'its form or its signature is wrong');
  }
}

function invalid(header: string, why: string) {
  return new CountersignError(
    'sign_in_failed',
    `the token in the header ${header} is not accepted: ${why}`,
    'compare `proxy` or `oidc` in the sign-in file with the settings of the reverse proxy or of the issuer',
  );
}

function clockWrong(header: string) {
  return new CountersignError(
    'sign_in_failed',
    `by the clock here, the token in the header ${header} has expired or is from the future`,
    'load the page again; if it stays, compare the clocks of the proxy and of the web inbox',
  );
}

function unreachable(url: string, cause: unknown) {
  return new CountersignError(
    'server_failed',
    `the keys of the proxy at ${url} cannot be read${whyNoProxy(cause)}`,
    'try again; look at the address from the machine that runs the web inbox',
  );
}
