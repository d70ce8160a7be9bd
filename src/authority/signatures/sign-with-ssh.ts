import { spawn } from 'node:child_process';
import { readIfThere } from '../../system/files';
import { CountersignError, errnoOf, errorMessage } from '../../contract/errors';
import { readKeyLine, type SignerKey } from './ssh-key';
import {
  readSshSignature,
  SIGNATURE_NAMESPACE,
  SSH_FAULTS,
  type SshSigner,
  verifySshSignature,
} from './ssh-signature';
import { type Statement, statementText } from './statement';

interface SigningOptions {
  /** A private key file, or a public key file whose private key the agent or a security key holds. */
  keyFile: string;
  /** The keys of the person who signs. Absent: any key is accepted, because there is no approvers file at hand. */
  keys?: readonly SignerKey[];
  /** Called immediately with a line that says what the person has to do now. */
  onWait?: (line: string) => void;
  /**
   * The longest time that the person may take to type a passphrase or to touch the key, in milliseconds.
   * @default 120000
   */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** @default process.env */
  env?: NodeJS.ProcessEnv;
  /** @default 'ssh-keygen' */
  program?: string;
}

interface SignedStatement extends SshSigner {
  armored: string;
}

const TIMEOUT = 120_000;

/**
 * Signs a statement with OpenSSH's own `ssh-keygen`, which itself asks for passphrase and PIN at the terminal. The
 * signature is checked before it is returned.
 *
 * @throws CountersignError `not_installed`; `signature_needed` for a key that is missing or does not count, and if the
 * agent, the security key or the person refuses, or lets the time pass.
 */
export function signStatement(statement: Statement, options: SigningOptions): Promise<SignedStatement> {
  return signText(statementText(statement), { ...options, namespace: SIGNATURE_NAMESPACE });
}

/** Like `signStatement`, for any text and any namespace. */
export async function signText(
  text: string,
  options: SigningOptions & { namespace: string },
): Promise<SignedStatement> {
  const { keyFile, keys, onWait, namespace, timeoutMs = TIMEOUT } = options;
  const message = Buffer.from(text);
  const listed = await publicKeyOf(keyFile);
  onWait?.(waitLine(listed, keyFile, timeoutMs));
  const ended = await runSshKeygen(message, options);
  if (ended.code !== 0) throw failure(ended, keyFile);
  const verdict = verifySshSignature({
    armored: ended.stdout,
    message,
    keys: keys ?? keysIn(ended.stdout),
    namespace,
    requireTouch: true,
    moments: [Date.now()],
  });
  if (verdict.ok) {
    const { fingerprint, isHardware, isUserVerified } = verdict;
    return { armored: ended.stdout, fingerprint, isHardware, isUserVerified };
  }
  throw new CountersignError(
    'signature_needed',
    `the signature would not count: ${SSH_FAULTS[verdict.why]}`,
    {
      hint: 'Name another key, or have its line added to the approvers file.',
      data: { why: verdict.why, fingerprint: verdict.fingerprint },
    },
  );
}

/** The key of a signature, as if a line listed it for the person who signs. */
function keysIn(armored: string): SignerKey[] {
  const read = readSshSignature(armored);
  return read.ok ? [{ ...read.signature.key, line: '' }] : [];
}

/**
 * The public key that belongs to a key file: from the `.pub` file beside it, or from the file itself if that is a
 * public key.
 */
async function publicKeyOf(keyFile: string) {
  for (const file of [`${keyFile}.pub`, keyFile]) {
    const text = await readIfThere(file).catch(() => undefined);
    const read = readKeyLine((text ?? '').split('\n', 1)[0] ?? '');
    if (read.ok) return read.key;
  }
  return undefined;
}

function waitLine(key: SignerKey | undefined, keyFile: string, timeoutMs: number) {
  const seconds = Math.round(timeoutMs / 1000);
  if (key?.application !== undefined)
    return `Touch the security key that holds ${key.fingerprint}, within ${seconds} s.`;
  return `Signing with ${key?.fingerprint ?? keyFile}; ssh-keygen or the agent may ask for a passphrase or a confirmation, within ${seconds} s.`;
}

/** The exit code and the output of ssh-keygen. */
interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

const MOST_OUTPUT = 64 * 1024;

/** Runs ssh-keygen. The statement goes through stdin, so that it need not be written to a file. */
async function runSshKeygen(
  message: Buffer,
  options: SigningOptions & { namespace: string },
): Promise<Ended> {
  const { namespace, keyFile, timeoutMs = TIMEOUT, signal, env, program = 'ssh-keygen' } = options;
  const child = spawn(program, ['-Y', 'sign', '-n', namespace, '-f', keyFile], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env,
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      if (output[name].length < MOST_OUTPUT) output[name] += text;
    });
  // ssh-keygen may end before it has read all input. The exit code then says why.
  child.stdin.on('error', () => undefined).end(message);
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  return new Promise<Ended>((resolve, reject) => {
    child.once('error', (cause) => reject(notStarted(program, cause)));
    child.once('close', (code) => resolve({ code, ...output }));
    const end = (why: string) => {
      child.kill('SIGKILL');
      // A helper process of ssh-keygen may hold these streams open.
      child.stdout.destroy();
      child.stderr.destroy();
      reject(signingFailed(`signing with ${keyFile} failed: ${why}`));
    };
    timer = setTimeout(() => end(`nothing was signed within ${Math.round(timeoutMs / 1000)} s`), timeoutMs);
    stop = () => end('it was stopped');
    if (signal?.aborted === true) stop();
    signal?.addEventListener('abort', stop);
  }).finally(() => {
    clearTimeout(timer);
    if (stop !== undefined) signal?.removeEventListener('abort', stop);
  });
}

function notStarted(program: string, cause: Error) {
  const why = errnoOf(cause) === 'ENOENT' ? 'it is not there' : errorMessage(cause);
  return new CountersignError('not_installed', `${program} cannot be started: ${why}`, {
    hint: 'Install OpenSSH 8.1 or newer; security keys need 8.2.',
    cause,
  });
}

function signingFailed(message: string, hint = 'Nothing was decided: try again.') {
  return new CountersignError('signature_needed', message, hint);
}

/** The error that a message of ssh-keygen leads to. These messages are the same in every locale. */
function failure({ stderr }: Ended, keyFile: string) {
  const words = stderr.replace(/^Signing data on standard input\s*/, '').trim();
  const has = (pattern: RegExp) => pattern.test(words);
  if (has(/unknown option -- Y|illegal option -- Y/))
    return new CountersignError(
      'not_installed',
      'this ssh-keygen is too old to sign',
      'Install OpenSSH 8.1 or newer; security keys need 8.2.',
    );
  if (has(/agent refused operation/))
    return signingFailed(`the agent refused to sign with ${keyFile}`, 'Confirm it when the agent asks.');
  if (has(/incorrect passphrase/)) return signingFailed(`the passphrase of ${keyFile} was not right`);
  if (has(/No private key found/))
    return keyMissing(
      `no agent holds the private key of ${keyFile}`,
      'Add it with ssh-add, or name the private key file.',
    );
  if (
    has(
      /No such file or directory|is not a public key file|invalid format|Permission denied|error in libcrypto/,
    )
  )
    return keyMissing(`there is no key in ${keyFile} that can be used: ${words}`, 'Name the file of a key.');
  return signingFailed(`ssh-keygen did not sign with ${keyFile}: ${words || 'it said nothing'}`);
}

function keyMissing(message: string, hint: string) {
  return new CountersignError('signature_needed', message, hint);
}
