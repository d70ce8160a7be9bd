import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { readYaml } from '../authority/yaml';
import { defined } from '../contract/defined';
import { CountersignError } from '../contract/errors';
import { type PrivateFault, readPrivateFile } from '../files';
import { isLoopback } from '../server/address';
import type { SignInOptions } from '../server';
import { readTextFile } from './files';

/** What a sign-in file says. The people stand in the approvers file. */
export type SignInFile = Omit<SignInOptions, 'people'>;

/** Https, or plain http on this machine, where nobody listens between. */
const address = z
  .url({ protocol: /^https?$/, error: 'must be an address such as https://login.example.com' })
  .refine(
    (text) => text.startsWith('https:') || isLoopback(new URL(text).hostname),
    'must be https, except on this machine',
  );

const entries = z
  .array(z.string().regex(/^(group:)?\S{1,200}$/, 'must be a person or group:<name>'))
  .default([]);

const fileSchema = z.strictObject({
  publicUrl: address,
  oidc: z.strictObject({
    issuer: address,
    clientId: z.string().min(1).max(200),
    secretFile: z.string().min(1).optional(),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope'))
      .refine((scopes) => scopes.includes('openid'), 'must have openid')
      .optional(),
    groupsClaim: z.string().min(1).optional(),
  }),
  access: z
    .strictObject({ mayFork: entries, mayConverse: entries })
    .default({ mayFork: [], mayConverse: [] }),
});

/** The variable that holds the client's secret where no file does. */
const SECRET_VARIABLE = 'COUNTERSIGN_OIDC_SECRET';

/**
 * Reads a sign-in file: YAML. The secret of the client comes from a file that only its owner may read, or from
 * `COUNTERSIGN_OIDC_SECRET`; a secret in the file itself is a mistake.
 *
 * @throws CountersignError `config_invalid` with each mistake, its line and column; `file_failed`.
 */
export async function readSignInFile(file: string, env: NodeJS.ProcessEnv): Promise<SignInFile> {
  const read = readYaml(await readTextFile(file), fileSchema);
  if (!read.ok) {
    const lines = read.mistakes.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`);
    throw invalid(`the sign-in file has mistakes:\n${lines.join('\n')}`, file);
  }
  const { publicUrl, access, oidc } = read.file.content;
  const { secretFile, issuer, clientId, scopes, groupsClaim } = oidc;
  const clientSecret =
    secretFile === undefined
      ? env[SECRET_VARIABLE] || undefined
      : readSecret(resolve(dirname(file), secretFile));
  return { publicUrl, access, oidc: { issuer, clientId, ...defined({ scopes, groupsClaim, clientSecret }) } };
}

const FAULTS: Readonly<Record<PrivateFault, string>> = {
  missing: 'there is no such file',
  unreadable: 'it cannot be read',
  not_a_file: 'it is a folder, a link or a device',
  too_large: 'it is too large for a secret',
  not_yours: 'it belongs to another user',
  open_to_others: 'others may read it',
};

function readSecret(file: string): string {
  const read = readPrivateFile(file, { strict: true });
  if (!('text' in read))
    throw invalid(`the client's secret in ${file} cannot be used: ${FAULTS[read.fault]}`, file);
  const secret = read.text.trim();
  if (secret === '') throw invalid(`the client's secret in ${file} is empty`, file);
  return secret;
}

function invalid(message: string, file: string): CountersignError {
  return new CountersignError('config_invalid', message, { hint: `correct ${file}`, data: { file } });
}
