import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readKeyLine, type SignerKey } from '../../../src/authority/signatures/ssh-key';
import { verifySshSignature } from '../../../src/authority/signatures/ssh-signature';
import { signStatement } from '../../../src/authority/signatures/sign-with-ssh';
import { type Statement, statementOf, statementText } from '../../../src/authority/signatures/statement';
import { scratchDirectory, writeScript } from '../../support/scratch';
import { newSigner, sshKeygen } from '../../support/ssh';
import { FACTS, VOTE } from './signed';
import { needs } from '../../support/parts';

type SigningOptions = Parameters<typeof signStatement>[1];

needs('ssh');

const scratch = scratchDirectory();
const at = (name: string): string => join(scratch(), name);

const statement = ((): Statement => {
  const made = statementOf(FACTS, { ...VOTE, reason: 'caf\u00e9; "quoted" $(touch x)' });
  if (made === undefined) throw new Error('not a statement');
  return made;
})();

/** Without an agent and a terminal unless a test adds one. */
const ENV = { PATH: process.env['PATH'], HOME: process.env['HOME'] };

const makeKey = (name = 'key', ...more: string[]): SignerKey => {
  sshKeygen(['-q', '-t', 'ed25519', '-N', '', ...more, '-f', at(name)]);
  const read = readKeyLine(readFileSync(at(`${name}.pub`), 'utf8').trim());
  if (!read.ok) throw new Error(read.why);
  return read.key;
};

const sign = (options: Partial<SigningOptions> = {}): ReturnType<typeof signStatement> =>
  signStatement(statement, { keyFile: at('key'), env: ENV, ...options });

it.each([['ed25519'], ['ecdsa', '-b', '384'], ['rsa', '-b', '2048']])(
  'signs with a file: %s',
  async (type, ...more) => {
    const key = makeKey('key', '-t', type, ...more);
    const lines: string[] = [];
    const signed = await sign({ keys: [key], onWait: (line) => lines.push(line) });
    expect(signed).toMatchObject({ fingerprint: key.fingerprint, isHardware: false });
    expect(lines).toEqual([expect.stringContaining(`Signing with ${key.fingerprint}`)]);
    const message = Buffer.from(statementText(statement));
    const check = {
      armored: signed.armored,
      message,
      keys: [key],
      namespace: 'countersign',
      requireTouch: true,
    };
    expect(verifySshSignature({ ...check, moments: [] })).toMatchObject({ ok: true });
  },
);

describe('with an agent', () => {
  let env: NodeJS.ProcessEnv;
  beforeEach(() => {
    const socket = at('agent');
    const output = execFileSync('ssh-agent', ['-s', '-a', socket], { encoding: 'utf8' });
    env = { ...ENV, SSH_AUTH_SOCK: socket, SSH_AGENT_PID: /SSH_AGENT_PID=(\d+)/.exec(output)?.[1] };
  });
  afterEach(() => void execFileSync('ssh-agent', ['-k'], { env }));

  const add = (...args: string[]): unknown =>
    execFileSync('ssh-add', ['-q', ...args], { env, stdio: 'pipe' });

  it('signs by the public key alone', async () => {
    const key = makeKey();
    add(at('key'));
    rmSync(at('key'));
    await expect(sign({ keyFile: at('key.pub'), env, keys: [key] })).resolves.toMatchObject({
      fingerprint: key.fingerprint,
    });
  });

  it('says that the agent does not hold the key', async () => {
    makeKey();
    copyFileSync(at('key.pub'), at('only.pub'));
    await expect(sign({ keyFile: at('only.pub'), env })).rejects.toMatchObject({
      code: 'signature_needed',
      message: expect.stringContaining('no agent holds'),
    });
  });

  it('says that the agent refused', async () => {
    makeKey();
    // The agent asks with a program that answers no.
    const env2 = {
      ...env,
      SSH_ASKPASS: writeScript(at('no'), 'exit 1'),
      SSH_ASKPASS_REQUIRE: 'force',
      DISPLAY: ':0',
    };
    execFileSync('ssh-agent', ['-k'], { env });
    const output = execFileSync('ssh-agent', ['-s', '-a', at('asking')], { encoding: 'utf8', env: env2 });
    env = { ...env2, SSH_AUTH_SOCK: at('asking'), SSH_AGENT_PID: /SSH_AGENT_PID=(\d+)/.exec(output)?.[1] };
    add('-c', at('key'));
    rmSync(at('key'));
    await expect(sign({ keyFile: at('key.pub'), env })).rejects.toMatchObject({
      code: 'signature_needed',
      message: expect.stringContaining('refused'),
    });
  });
});

it.each<[string, string, string, () => Partial<SigningOptions>]>([
  ['no ssh-keygen', 'not_installed', 'cannot be started', () => ({ program: at('none') })],
  [
    'an ssh-keygen that does not sign',
    'not_installed',
    'too old',
    () => ({ program: writeScript(at('old'), 'echo "unknown option -- Y" >&2; exit 1') }),
  ],
  ['a program that may not run', 'not_installed', 'cannot be started', () => ({ program: at('key.pub') })],
  ['no key', 'signature_needed', 'there is no key in', () => ({ keyFile: at('none') })],
  [
    'a file that is not a key',
    'signature_needed',
    'there is no key in',
    () => {
      writeFileSync(at('text'), 'not a key\n', { mode: 0o600 });
      return { keyFile: at('text') };
    },
  ],
  [
    'a passphrase that nobody can type',
    'signature_needed',
    'passphrase',
    () => {
      makeKey('locked', '-N', 'secret');
      const env = {
        ...ENV,
        SSH_ASKPASS: writeScript(at('wrong'), 'echo wrong'),
        SSH_ASKPASS_REQUIRE: 'force',
      };
      return { keyFile: at('locked'), env };
    },
  ],
  ['a key of nobody', 'signature_needed', "one of this person's", () => ({ keys: [] })],
  [
    'a key of somebody else',
    'signature_needed',
    "one of this person's",
    () => ({ keys: [makeKey('other')] }),
  ],
  [
    'a short RSA key',
    'signature_needed',
    '2,048 bits',
    () => {
      sshKeygen(['-q', '-t', 'rsa', '-b', '1024', '-N', '', '-f', at('short')]);
      return { keyFile: at('short') };
    },
  ],
  [
    'a program that writes something else',
    'signature_needed',
    'not a signature',
    () => ({ program: writeScript(at('other'), 'cat >/dev/null; echo yes') }),
  ],
  [
    'a program that fails without a word',
    'signature_needed',
    'it said nothing',
    () => ({ program: writeScript(at('silent'), 'exit 1') }),
  ],
  [
    'a key that nobody touches',
    'signature_needed',
    'nothing was signed within 0 s',
    () => ({ program: writeScript(at('waits'), 'exec sleep 600'), timeoutMs: 200 }),
  ],
  [
    'a person who stops it',
    'signature_needed',
    'it was stopped',
    () => ({ program: writeScript(at('waits'), 'exec sleep 600'), signal: AbortSignal.abort() }),
  ],
])('says so: %s', async (_case, code, message, options) => {
  makeKey();
  await expect(sign(options())).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
});

it('says which security key to touch, and takes no signature that nobody touched', async () => {
  const sk = newSigner('sk-ssh-ed25519@openssh.com');
  const text = statementText(statement);
  const read = readKeyLine(sk.line);
  if (!read.ok) throw new Error(read.why);
  writeFileSync(at('key.pub'), `${sk.line}\n`);
  const lines: string[] = [];
  const options = (flags: number): Partial<SigningOptions> => {
    writeFileSync(at('signature'), sk.sign(text, { flags }));
    const program = writeScript(at('device'), `cat >/dev/null; cat '${at('signature')}'`);
    chmodSync(program, 0o755);
    return { program, keys: [read.key], onWait: (line) => lines.push(line) };
  };
  await expect(sign(options(5))).resolves.toMatchObject({ isHardware: true, isUserVerified: true });
  expect(lines).toEqual([`Touch the security key that holds ${read.key.fingerprint}, within 120 s.`]);
  await expect(sign(options(0))).rejects.toMatchObject({
    code: 'signature_needed',
    data: { why: 'not_touched' },
  });
});
