import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withSealedAnswers } from '../../src/activities/sealed-secrets';
import type { AnswerKeys } from '../../src/contract/secret/sealed';
import { callKey } from '../../src/contract/names';
import type { Question } from '../../src/contract/question';
import { makeAnswerKey, readAnswerKeys, requirePinned } from '../../src/encryption/answer-keys';
import { sealAnswer } from '../../src/sealing/seal-answer';
import { createSecrets } from '../../src/tools/secrets';

const SECRET = 'swordfish-ü-😀';
const HANDLE = 'answer:1.1/token';
const form = {
  type: 'object',
  properties: { token: { type: 'string', format: 'password', 'x-for': ['deploy'] } },
};
const { signal } = new AbortController();

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-keys-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const fileOf = async (name: string, ...lines: string[]): Promise<string> => {
  const file = join(directory, name);
  await writeFile(file, `# newest first\n${lines.join('\n')}\n`, { mode: 0o600 });
  return file;
};
const keysOf = async (name: string, ...lines: string[]): Promise<AnswerKeys> => {
  const keys = await readAnswerKeys(await fileOf(name, ...lines));
  if (keys === undefined) throw new Error('no keys');
  return keys;
};
const questionOf = ({ publicKey: key }: AnswerKeys): Question => ({ text: 'Which?', form, key });
const seal = async (keys: AnswerKeys, call = callKey('reply', '1.1'), value = SECRET): Promise<string> => {
  const { token } = await sealAnswer({ question: questionOf(keys), callKey: call }, { token: value });
  return String(token);
};
const read = (
  keys: AnswerKeys | undefined,
  token: string,
  tool = 'deploy',
  handle = HANDLE,
): Promise<string> =>
  withSealedAnswers(createSecrets(), { tool, keys, sealed: { [handle]: token } }).get(handle, signal);

it('gives the tool exactly what was typed, and takes it from all text afterwards', async () => {
  const keys = await keysOf('one', (await makeAnswerKey()).line);
  const secrets = createSecrets();
  const token = await seal(keys);
  const answers = { tool: 'deploy', keys, sealed: { [HANDLE]: token } };
  expect(await withSealedAnswers(secrets, answers).get(HANDLE, signal)).toBe(SECRET);
  expect(secrets.hide(`it is ${SECRET}`)).not.toContain('swordfish');
  expect(token).not.toContain(SECRET);
});

it('reads what older keys encrypt, and asks with the newest', async () => {
  const [old, young] = [await makeAnswerKey(), await makeAnswerKey()];
  const token = await seal(await keysOf('old', old.line));
  const both = await keysOf('both', young.line, old.line);
  expect(both.publicKey.kid).toBe(young.fingerprint);
  expect(await read(both, token)).toBe(SECRET);
  await expect(read(await keysOf('young', young.line), token)).rejects.toThrow('does not have its key');
  await expect(read(undefined, token)).rejects.toThrow('no key for secret answers');
});

it('gives nothing to another tool, under another handle, or of what was changed', async () => {
  const keys = await keysOf('guarded', (await makeAnswerKey()).line);
  const token = await seal(keys);
  await expect(read(keys, token, 'steal')).rejects.toThrow('is for deploy; steal cannot read it');
  await expect(read(keys, token, 'deploy', 'answer:1.2/token')).rejects.toThrow('another question');
  await expect(read(keys, token, 'deploy', 'answer:1.1/pin')).rejects.toThrow('another question');
  await expect(read(keys, 'hunter2')).rejects.toThrow('there is no secret');
  const [head = '', ...rest] = token.split('.');
  const forAll = Buffer.from(head, 'base64url').toString().replace('"deploy"', '"deploy","steal"');
  const forged = [Buffer.from(forAll).toString('base64url'), ...rest].join('.');
  await expect(read(keys, forged, 'steal')).rejects.toThrow('cannot be decrypted');
});

it('encrypts with no key but the one that it is named after, and nothing too long', async () => {
  const keys = await keysOf('named', (await makeAnswerKey()).line);
  const other = (await keysOf('other', (await makeAnswerKey()).line)).publicKey;
  const question = { ...questionOf(keys), key: { ...other, kid: keys.publicKey.kid } };
  const asked = { question, callKey: callKey('reply', '1.1') };
  await expect(sealAnswer(asked, { token: SECRET })).rejects.toThrow('not the one that it is named after');
  await expect(seal(keys, undefined, 'x'.repeat(4097))).rejects.toThrow('over 4096 bytes');
  expect((await read(keys, await seal(keys, undefined, 'x'.repeat(4096)))).length).toBe(4096);
});

it('refuses to send what a key that is not pinned encrypts', async () => {
  const keys = await keysOf('pinned', (await makeAnswerKey()).line);
  const token = await seal(keys);
  expect(() => requirePinned([token], 'another')).toThrow('nothing was sent');
  expect(() => requirePinned([token], `another, ${keys.publicKey.kid}`)).not.toThrow();
  expect(() => requirePinned(['plain', 3, token], '')).not.toThrow();
});

it.each<[what: string, lines: string[], mode: number]>([
  ['no key', [], 0o600],
  ['what is no key', ['{"kty":"EC"}'], 0o600],
  ['what is no JSON', ['hunter2'], 0o600],
  ['keys that others can read', ['{}'], 0o644],
])('refuses a file with %s, and quotes nothing of it', async (_what, lines, mode) => {
  const file = await fileOf('wrong', ...lines);
  await chmod(file, mode);
  const error: unknown = await readAnswerKeys(file).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'encryption_invalid' });
  expect(String(error)).not.toContain('hunter2');
});

it('has no keys where no file is named', async () => {
  expect(await readAnswerKeys('')).toBeUndefined();
});
