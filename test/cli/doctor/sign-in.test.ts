import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkSignIn } from '../../../src/cli/doctor/sign-in';
import { startRogue } from '../../support/oidc';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-doctor-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const check = async (text: string) => {
  const file = join(directory, 'sign-in.yaml');
  await writeFile(file, text);
  return checkSignIn(file, {});
};

it('says whether the issuer answers', async () => {
  const issuer = await startRogue();
  const text = `publicUrl: https://inbox.example.com\noidc: { issuer: '${issuer.issuer}', clientId: inbox }\n`;
  expect(await check(text)).toEqual([{ name: 'issuer', state: 'ok', detail: `${issuer.issuer} answers` }]);
  await issuer.stop();
  expect(await check(text)).toEqual([
    {
      ...{ name: 'issuer', state: 'bad', todo: expect.any(String) },
      detail: `the issuer ${issuer.issuer} cannot be reached, or does not answer as one`,
    },
  ]);
});

it('says that the file has mistakes', async () => {
  expect(await check('oidc: 7')).toEqual([expect.objectContaining({ name: 'sign-in file', state: 'bad' })]);
});
