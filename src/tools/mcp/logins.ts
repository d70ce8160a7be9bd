import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { digestJson } from '../../contract/digest';
import { CountersignError } from '../../contract/errors';
import { parseJson } from '../../contract/json';
import { shellWord } from '../../contract/text/shell-word';
import {
  makeFolderOf,
  privateFaultText,
  readPrivateFile,
  replaceFile,
  userStateDir,
} from '../../system/files';
import { withLock } from '../../system/lock';
import type { Secrets } from '../secrets';

/** An account: a server, and the client that the config names for the server. Variables are filled in. */
export interface LoginAccount {
  /** The name that the config gives the server. */
  name: string;
  url: string;
  clientId?: string;
  /** The only authorization server to use. Absent: any authorization server that the MCP server names. */
  issuer?: string;
  /**
   * The secret of the client. Undefined if the client has no secret. @throws ToolError if the secret cannot be read.
   */
  clientSecret(signal: AbortSignal): Promise<string | undefined>;
}

/** The schema of a login file. It is strict: only we write the file, so every error in it comes from elsewhere. */
const loginSchema = z.strictObject({
  version: z.literal(1),
  /** The only URL that the tokens are for. */
  url: z.string(),
  /** The authorization server that gave the tokens. They are renewed there and nowhere else. */
  issuer: z.string(),
  tokenEndpoint: z.url(),
  revocationEndpoint: z.url().optional(),
  /** The methods by which clients authenticate at the token endpoint. */
  authMethods: z.array(z.string()).optional(),
  /** The resource for which the tokens were requested (RFC 8707). */
  resource: z.string().optional(),
  clientId: z.string(),
  /** The client secret, if the login registered the client. A secret from the config is not stored here. */
  clientSecret: z.string().optional(),
  scopes: z.array(z.string()).optional(),
  accessToken: z.string(),
  /** Absent if the server sent no refresh token, or if the token has ended. */
  refreshToken: z.string().optional(),
  /** Milliseconds since 1970. Absent if the server did not say. */
  expiresAt: z.number().optional(),
  /** From this time on, the token is renewed before it is used. Milliseconds since 1970. */
  renewAt: z.number().optional(),
});

/** A login as it is kept in its file. */
export type Login = z.output<typeof loginSchema>;

/** The file of an account. Each URL and client has its own file, so that logins do not mix. */
export function loginFile({ url, clientId = '' }: Pick<LoginAccount, 'url' | 'clientId'>): string {
  const name = digestJson([url, clientId]).slice(0, 32);
  return join(userStateDir(), 'mcp', `${name}.json`);
}

/**
 * The login of an account. Undefined if nobody has logged in. Its secrets are redacted from all that leaves the
 * worker.
 *
 * @throws CountersignError `file_failed` if others can read the file, or if it has no login of this account.
 */
export function readLogin(account: LoginAccount, secrets: Secrets): Login | undefined {
  const file = loginFile(account);
  const read = readPrivateFile(file);
  if ('fault' in read) {
    if (read.fault === 'missing') return undefined;
    throw unfit(file, privateFaultText(read), read.fault === 'open_to_others');
  }
  const parsed = loginSchema.safeParse(parseJson(read.text));
  if (!parsed.success || parsed.data.url !== account.url) throw unfit(file, 'does not hold its login');
  const { accessToken, refreshToken = '', clientSecret = '' } = parsed.data;
  for (const secret of [accessToken, refreshToken, clientSecret]) secrets.keep(secret);
  return parsed.data;
}

/** Does work under a lock, so that no other process changes the login of the account. */
export async function aloneWith<T>(account: LoginAccount, work: () => Promise<T>): Promise<T> {
  const file = loginFile(account);
  await makeFolderOf(file);
  return withLock(`${file}.lock`, { progress: () => undefined, what: 'The login is changed' }, work);
}

/** Stores a login durably. The caller holds the account's lock. */
export function writeLogin(account: LoginAccount, login: Login): Promise<void> {
  return replaceFile(loginFile(account), `${JSON.stringify(login, null, 2)}\n`);
}

/** Removes a login. The caller holds the account's lock. */
export function removeLogin(account: LoginAccount): Promise<void> {
  return rm(loginFile(account), { force: true });
}

function unfit(file: string, why: string, isOpen = false): CountersignError {
  const todo = isOpen
    ? `Run \`chmod 600 ${shellWord(file)}\` if nobody else has read it; else log in again.`
    : 'Remove it and log in again.';
  return new CountersignError('file_failed', `the file of the login, ${file}, ${why}`, todo);
}
