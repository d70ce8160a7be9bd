import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { mistakeLine, readYaml } from '../system/yaml';
import { parseJson } from '../contract/json';
import { CountersignError } from '../contract/errors';
import { privateFaultText, readPrivateFile } from '../system/files';
import { isSecureUrl } from '../system/loopback';
import type { SignInOptions } from '../server';
import { readTextFile } from '../system/named-files';

const filled = z.string().min(1);

/** The content of a sign-in file. The people are in the approvers file. */
type SignInFile = Omit<SignInOptions, 'people'>;

/** An https address. Plain http is allowed on this machine only, where nobody can listen in between. */
const address = z
  .url({ protocol: /^https?$/, error: 'must be an address such as https://login.example.com' })
  .refine((text) => isSecureUrl(new URL(text)), 'must be https, except on this machine');

const entries = z
  .array(z.string().regex(/^(group:)?\S{1,200}$/, 'must be a person or group:<name>'))
  .default([]);

/** Headers that browsers send by themselves, or that have another meaning here. */
const OWN_HEADERS = /^(authorization|cookie|host|origin|referer|content-.*|sec-.*|accept.*|user-agent)$/i;

const fileSchema = z
  .strictObject({
    publicUrl: address,
    oidc: z
      .strictObject({
        issuer: address,
        clientId: filled.max(200),
        secretFile: filled.optional(),
        scopes: z
          .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope'))
          .refine((scopes) => scopes.includes('openid'), 'must have openid')
          .optional(),
        groupsClaim: filled.optional(),
      })
      .optional(),
    proxy: z
      .strictObject({
        header: z
          .string()
          .regex(/^[a-z0-9-]{1,100}$/i, 'must be the name of a header')
          .refine((name) => !OWN_HEADERS.test(name), 'must be a header of the proxy alone')
          .transform((name) => name.toLowerCase()),
        issuer: filled.max(1000),
        audience: filled.max(1000),
        jwks: address.optional(),
        keyFile: filled.optional(),
        groupsClaim: filled.optional(),
      })
      .refine(
        ({ jwks, keyFile }) => (jwks === undefined) !== (keyFile === undefined),
        'must have one of `jwks` and `keyFile`',
      )
      .optional(),
    access: z
      .strictObject({ mayFork: entries, mayConverse: entries })
      .default({ mayFork: [], mayConverse: [] }),
  })
  .refine(({ oidc, proxy }) => oidc !== undefined || proxy !== undefined, 'must have `oidc` or `proxy`');

/** The environment variable that holds the client's secret if no file is named. */
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
    const lines = read.mistakes.map((one) => mistakeLine(file, one));
    throw invalid(`the sign-in file has mistakes:\n${lines.join('\n')}`, file);
  }
  const { publicUrl, access, oidc, proxy } = read.file.content;
  return {
    publicUrl,
    access,
    oidc: oidc && oidcOf(oidc, file, env),
    proxy: proxy && (await proxyOf(proxy, file)),
  };
}

type FileContent = z.output<typeof fileSchema>;

function oidcOf(
  { secretFile, issuer, clientId, scopes, groupsClaim }: NonNullable<FileContent['oidc']>,
  file: string,
  env: NodeJS.ProcessEnv,
): NonNullable<SignInFile['oidc']> {
  const clientSecret =
    secretFile === undefined
      ? env[SECRET_VARIABLE] || undefined
      : readSecret(resolve(dirname(file), secretFile));
  return { issuer, clientId, scopes, groupsClaim, clientSecret };
}

/** A set of public keys only. A key set that holds a private key is a mistake. */
const keySet = z.object({
  keys: z
    .array(
      z.looseObject({ kty: z.enum(['RSA', 'EC', 'OKP']) }).refine((key) => !('d' in key), 'must be public'),
    )
    .min(1),
});

async function proxyOf(
  { header, issuer, audience, jwks, keyFile = '', groupsClaim }: NonNullable<FileContent['proxy']>,
  file: string,
): Promise<NonNullable<SignInFile['proxy']>> {
  const head = { header, issuer, audience, groupsClaim };
  if (jwks !== undefined) return { ...head, keys: { url: jwks } };
  const path = resolve(dirname(file), keyFile);
  const read = keySet.safeParse(parseJson(await readTextFile(path)));
  if (!read.success) throw invalid(`${path} is not a JSON Web Key Set of public keys`, file);
  return { ...head, keys: { set: read.data } };
}

function readSecret(file: string) {
  const read = readPrivateFile(file, { strict: true });
  if (!('text' in read))
    throw invalid(`the client's secret in ${file} cannot be used: it ${privateFaultText(read)}`, file);
  const secret = read.text.trim();
  if (secret === '') throw invalid(`the client's secret in ${file} is empty`, file);
  return secret;
}

function invalid(message: string, file: string) {
  return new CountersignError('config_invalid', message, { hint: `correct ${file}`, data: { file } });
}
