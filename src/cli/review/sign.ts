import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import type { Approvers } from '../../authority/rules/approvers-file';
import type { SignerKey } from '../../authority/signatures/ssh-key';
import type { Statement } from '../../authority/signatures/statement';
import type { SaysOfGrant } from '../../authority/grants/grant-votes';
import type { GrantTerms } from '../../authority/grants/grant';
import type { VoteSignature } from '../../contract/decision';
import { defined } from '../../contract/defined';
import { CountersignError, usageError } from '../../contract/errors';
import { readIfThere } from '../../system/files';
import type { CallView } from '../../history/view';
import type { Context } from '../context';
import { escapeText } from '../../contract/text/escape';
import { indented } from '../print/table';
import type { Countersign } from '../../client';

/** The approvers file that is looked for in the current directory if no file is named. */
export const APPROVERS_FILE = 'approvers.yaml';

/** The option of a command that can sign decisions. */
export interface SignOptions {
  /** The file of a key. True: a key that the approvers file lists for the person. */
  sign?: string | true;
}

/** Adds this option to a command. */
export function addSignOption(command: Command): Command {
  return command.option(
    '--sign [key]',
    'sign with your SSH key: the key in this file, or one that the approvers file names',
  );
}

/** Signs a person's decision on a call. */
export type Sign = (about: {
  agent: string;
  turn: string;
  call: CallView;
  decisionId: string;
  decision: Statement['decision'];
  reason?: string;
  suggestion?: string;
  hunks: readonly string[] | undefined;
}) => Promise<VoteSignature>;

/** The person who signs, by the name in the file, and the functions that sign. */
export interface Signer {
  approver: string;
  sign: Sign;
  /** `says`: the person who confirms the grant, and the time. Absent: the person gives the grant. */
  signGrant(terms: GrantTerms, namespace: string, says?: SaysOfGrant): Promise<VoteSignature>;
}

/**
 * The signer for these options. Undefined: the options do not ask for a signature.
 *
 * @throws CountersignError `file_failed`, `config_invalid`, and `signature_needed` if the file has no such person, or no
 * key of this person.
 */
export async function signerOf(
  { sign }: SignOptions,
  approver: string,
  at: { client: Pick<Countersign, 'placeOf'>; context: Pick<Context, 'screen' | 'env' | 'approversFile'> },
): Promise<Signer | undefined> {
  if (sign === undefined) return undefined;
  const { approversFile: file = APPROVERS_FILE } = at.context;
  // Loaded here, so that no other command waits for YAML and CEL.
  const { loadApprovers } = await import('../../authority/rules/approvers-file.js');
  const approvers = await loadApprovers(file);
  const name = approvers.personOf(approver);
  if (name === undefined)
    throw noKey(`${file} names nobody '${approver}'`, 'Say who you are there with --as <name>.');
  if (approvers.keysOf(name).length === 0)
    throw noKey(`${file} has no key of ${name}`, 'Ask an administrator to add the line of your public key.');
  const by = { approvers, name, named: sign, ...at };
  return { approver: name, sign: signWith(by), signGrant: grantSigner(by) };
}

function noKey(message: string, hint: string) {
  return new CountersignError('signature_needed', message, hint);
}

interface SignWith {
  approvers: Approvers;
  name: string;
  named: string | true;
  client: Pick<Countersign, 'placeOf'>;
  context: Pick<Context, 'screen' | 'env'>;
}

function signWith({ approvers, name, named, client, context }: SignWith): Sign {
  return async ({ agent, turn, call, ...vote }) => {
    const { factsToSign, signatureOf, timesToSign } =
      await import('../../authority/signatures/facts-to-sign.js');
    const { statementOf, statementText } = await import('../../authority/signatures/statement.js');
    const { signStatement } = await import('../../authority/signatures/sign-with-ssh.js');
    const { installation } = approvers;
    const facts = factsToSign({ agent }, call, { installation, ...client.placeOf({ turn }) });
    if (facts === undefined)
      throw usageError(
        `no rule says who decides ${turn}/${call.callId}, so nobody would check a signature on it`,
        'Decide it without --sign, or name an approvers file in the config of its worker.',
      );
    const times = timesToSign(call, Date.now());
    const statement = statementOf(facts, { ...defined(vote), approver: name, ...times });
    if (statement === undefined) throw usageError('a part of this call or its reason cannot be signed');
    const { screen, env } = context;
    for (const line of ['what you sign:', ...indented(statementLines(statement))]) screen.note(line);
    const keys = approvers.keysOf(name);
    const onWait = (line: string) => screen.note(escapeText(line));
    const { armored } = await withKeyFile({ named, keys, env, name }, (keyFile) =>
      signStatement(statement, { keyFile, keys, onWait, env }),
    );
    return signatureOf('ssh', armored, { text: statementText(statement), ...times });
  };
}

/** Signs any text for a namespace. The text is shown before it is signed. */
function textSigner({ approvers, name, named, context }: SignWith) {
  return async (text: string, namespace: string) => {
    const { signText } = await import('../../authority/signatures/sign-with-ssh.js');
    const { screen, env } = context;
    for (const line of ['what you sign:', ...indented([escapeText(text)])]) screen.note(line);
    const keys = approvers.keysOf(name);
    const onWait = (line: string) => screen.note(escapeText(line));
    const signed = await withKeyFile({ named, keys, env, name }, (keyFile) =>
      signText(text, { keyFile, keys, onWait, env, namespace }),
    );
    return signed.armored;
  };
}

/** Signs a grant. The text and the namespace of a grant differ from the text and the namespace of every decision. */
function grantSigner(by: SignWith): Signer['signGrant'] {
  return async (terms, namespace, says) => {
    const { signedGrantText } = await import('../../authority/signatures/grant-statement.js');
    const { GRANT_NAMESPACE } = await import('../../authority/signatures/ssh-signature.js');
    const text = signedGrantText(terms, { installation: by.approvers.installation, namespace }, says);
    const armored = await textSigner(by)(text, GRANT_NAMESPACE);
    return { kind: 'ssh', armored, at: (says ?? terms).at, notAfter: terms.until };
  };
}

/** The lines that show a statement to a person. The signature is over its canonical JSON. */
function statementLines(statement: Statement) {
  return Object.entries(statement).map(([name, value]) => {
    const text = typeof value === 'object' ? Object.values(value).join(', ') : String(value);
    return `${name.padEnd(19)} ${escapeText(text === '' ? '(none)' : text)}`;
  });
}

interface Wanted {
  named: string | true;
  keys: readonly SignerKey[];
  env: NodeJS.ProcessEnv;
  name: string;
}

/** Finds the key. If no key is named, looks in `~/.ssh` and then in the agent, which signs for a public key file. */
async function withKeyFile<T>(
  { named, keys, env, name }: Wanted,
  use: (keyFile: string) => Promise<T>,
): Promise<T> {
  if (named !== true) return use(named);
  const own = await ownKeyFile(keys, env);
  if (own !== undefined) return use(own);
  const held = await heldKey(keys, env);
  if (held === undefined) {
    const agent = env['SSH_AUTH_SOCK'] ? 'the agent holds none of them' : 'there is no agent (SSH_AUTH_SOCK)';
    throw noKey(
      `none of the keys of ${name} is in ~/.ssh, and ${agent}`,
      'Name the file of your key, --sign <key>, or add it to the agent with ssh-add.',
    );
  }
  const folder = await mkdtemp(join(tmpdir(), 'countersign-key-'));
  try {
    const file = join(folder, 'key.pub');
    await writeFile(file, `${held.type} ${held.blob.toString('base64')}\n`);
    return await use(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function ownKeyFile(keys: readonly SignerKey[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const folder = join(env['HOME'] ?? homedir(), '.ssh');
  const names = await readdir(folder).catch((): string[] => []);
  for (const name of names.filter((one) => one.endsWith('.pub')).sort()) {
    const text = await readIfThere(join(folder, name)).catch(() => undefined);
    if (text === undefined || !keys.some((key) => isKeyIn(text, key))) continue;
    const half = name.slice(0, -'.pub'.length);
    return join(folder, names.includes(half) ? half : name);
  }
  return undefined;
}

function isKeyIn(text: string, { type, blob }: SignerKey) {
  return text.split('\n').some((line) => line.startsWith(`${type} ${blob.toString('base64')}`));
}

async function heldKey(keys: readonly SignerKey[], env: NodeJS.ProcessEnv): Promise<SignerKey | undefined> {
  if (!env['SSH_AUTH_SOCK']) return undefined;
  // `ssh-add` ends with 1 if the agent is empty, and with 2 if there is no agent.
  const listed = await promisify(execFile)('ssh-add', ['-L'], { env }).catch(() => ({ stdout: '' }));
  return keys.find((key) => isKeyIn(listed.stdout, key));
}
