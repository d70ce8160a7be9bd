import { open } from 'node:fs/promises';
import { CountersignError } from '../../contract/errors';

const VARIABLE = 'COUNTERSIGN_NOTIFY_SECRET';
const LEAST_BYTES = 16;

/**
 * The secret that posts are signed with: from a file, or from `COUNTERSIGN_NOTIFY_SECRET`; never from the command line,
 * which every user of the machine can read. `whsec_` and base64, as Standard Webhooks has it, or any text.
 *
 * @throws CountersignError `usage` where there is none, it cannot be read, or it is too short.
 */
export async function readSecret(file: string | undefined, env: NodeJS.ProcessEnv): Promise<Buffer> {
  const text = (file === undefined ? (env[VARIABLE] ?? '') : await readSecretFile(file)).trim();
  if (text === '')
    throw usage(
      'a webhook needs a secret to sign with',
      `Set ${VARIABLE}, or name a file with --secret-file.`,
    );
  const secret = text.startsWith('whsec_') ? Buffer.from(text.slice(6), 'base64') : Buffer.from(text, 'utf8');
  if (secret.length >= LEAST_BYTES) return secret;
  throw usage(
    `the secret is under ${LEAST_BYTES} bytes`,
    'Make one: echo "whsec_$(openssl rand -base64 32)"',
  );
}

async function readSecretFile(path: string): Promise<string> {
  const file = await open(path, 'r').catch((error: Error) => {
    throw usage(
      `--secret-file ${path} cannot be read (${error.message})`,
      'Name a file that holds only the secret.',
    );
  });
  try {
    const { mode } = await file.stat();
    if (process.platform === 'win32' || (mode & 0o077) === 0) return await file.readFile('utf8');
  } finally {
    await file.close();
  }
  throw usage(`--secret-file ${path} can be read by others`, `Run: chmod 600 ${path}`);
}

function usage(message: string, hint: string): CountersignError {
  return new CountersignError('usage', message, { hint });
}
