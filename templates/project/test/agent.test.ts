import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  approveNext,
  denyNext,
  scriptedModel,
  startTestEnvironment,
  startTestServer,
  waitForEnd,
  type TestEnvironment,
  type TestServer,
} from 'countersign/testing';
import { makeClerk } from '../agent';

const mail = { name: 'send_mail', arguments: { to: 'ann@example.org', text: 'Your order is on its way.' } };
const clerk = makeClerk(scriptedModel([{ toolCalls: [mail] }, { text: 'done' }]));
const home = process.cwd();

let server: TestServer;
let environment: TestEnvironment;

before(async () => {
  server = await startTestServer({ progress: (line) => process.stderr.write(`${line}\n`) });
  environment = await startTestEnvironment({ server, agents: [clerk] });
});

after(async () => {
  process.chdir(home);
  await environment?.stop();
  await server?.stop();
});

/** The sent mails, from the test's own outbox. */
const outbox = (): string => readFileSync('outbox.txt', { encoding: 'utf8', flag: 'a+' });

test('a mail is sent as the person who approved it left it', async () => {
  process.chdir(mkdtempSync(join(tmpdir(), 'clerk-')));
  const { turn } = await environment.start('clerk', 'tell ann');
  await approveNext(environment.client, turn, {
    arguments: { to: 'ann@example.org', text: 'It is on its way.' },
  });
  assert.equal((await waitForEnd(environment.client, turn)).answer, 'done');
  assert.equal(outbox(), 'ann@example.org: It is on its way.\n');
});

test('a mail that is denied is not sent', async () => {
  process.chdir(mkdtempSync(join(tmpdir(), 'clerk-')));
  const { turn } = await environment.start('clerk', 'tell ann');
  await denyNext(environment.client, turn, { reason: 'she knows' });
  const { calls } = await waitForEnd(environment.client, turn);
  assert.equal(calls[0]?.result?.error?.code, 'denied');
  assert.equal(outbox(), '');
});
