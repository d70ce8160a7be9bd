import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { awayTerms, connect, type Countersign } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { type MailServer, startMailServer } from '../cli/notify/mail-server';
import { type RunningCommand, startCli } from '../cli/process';
import { runCli } from '../cli/run-cli';
import { type PostServer, startPostServer } from '../cli/receiver';
import { recordTool, TAG_SCHEMA, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { scriptBook } from '../support/script-book';
import { waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const directory = scratchDirectory();
const HOUR = 3_600_000;
let fixture: Fixture;
let client: Countersign;
let posts: PostServer;
let mails: MailServer;
let watching: RunningCommand | undefined;

const FILE = `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  dora: { groups: [finance], mail: dora@example.org }
  xena: { mail: xena@example.org }
  yan: { mail: yan@example.org }
rules:
  - name: finance
    tools: [pay]
    then: ask
    approvers: { any: ['group:finance'] }
  - name: default
    then: by_safety
`;

/** Who is away is known for a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  const approvers = join(fixture.directory, 'approvers.yaml');
  writeFileSync(approvers, FILE);
  const pay = recordTool(effects, { name: 'pay', safety: 'dangerous', parameters: TAG_SCHEMA });
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools: [pay] });
  await fixture.addWorker({}, { agents: [clerk], approvers });
  client = await connect({ client: fixture.client });
});
beforeEach(async () => {
  [posts, mails] = [await startPostServer(), await startMailServer({ authOptional: true })];
  writeFileSync(
    join(directory(), 'notify.yaml'),
    `
page: https://inbox.example.org
approvers: ${join(fixture.directory, 'approvers.yaml')}
channels:
  hook: { kind: webhook, url: '${posts.url}' }
  mail: { kind: mail, tls: none, from: bot@example.org, to: voters }
`,
  );
});
afterEach(async () => {
  watching?.signal('SIGKILL');
  await watching?.ended;
  watching = undefined;
  for (const { turn } of await client.inbox({})) await client.cancel(turn);
  for (const { id } of (await client.away.list()).entries) await client.away.end({ id, by: 'test' });
  await Promise.all([posts.close(), mails.close()]);
});

const settings = () => ({
  cwd: directory(),
  env: {
    TEMPORAL_ADDRESS: fixture.address,
    XDG_STATE_HOME: directory(),
    COUNTERSIGN_NOTIFY_SECRET: 'a secret that is long enough',
    COUNTERSIGN_SMTP_URL: `smtp://127.0.0.1:${mails.port}`,
  },
});
const ARGS = ['watch', '--channels', 'notify.yaml'];
const once = () => runCli([...ARGS, '--once'], settings());

async function asked(): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'x' } }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}
const leaves = (from: string, to: string) => {
  const start = Date.now();
  return client.away.put(awayTerms({ from, to }, { start, end: start + HOUR }));
};
const types = (): string[] => posts.posts.map(({ body }) => JSON.parse(body).type);
const mailed = (): string[] => mails.mails.flatMap(({ to }) => to);

it('go to who is away and to their delegate, each once', async () => {
  await leaves('dora', 'xena');
  await asked();
  expect(await once()).toMatchObject({ code: 0 });
  expect([types(), mailed()]).toEqual([['request.opened'], ['dora@example.org', 'xena@example.org']]);
  await once();
  expect([types().length, mailed().length]).toEqual([1, 2]);
});

it('go to the delegate of who leaves while a request waits, and to nobody else', async () => {
  watching = startCli(ARGS, settings());
  const turn = await asked();
  await until('the first', () => types().length === 1 && mailed().length === 1);
  await leaves('yan', 'dora');
  const { id: entry, end } = await leaves('dora', 'xena');
  await until('the second', () => types().length === 2 && mailed().length === 2);
  expect(types()).toEqual(['request.opened', 'request.delegated']);
  const delegated = { voter: 'xena', person: 'dora', entry, until: end };
  expect(JSON.parse(posts.posts[1]?.body ?? '{}').data).toMatchObject({ turn, delegated });
  expect(mailed()).toEqual(['dora@example.org', 'xena@example.org']);
  const text = mails.mails[1]?.text.replaceAll('=\r\n', '');
  expect(text).toMatch(/in place of +dora, who is away until .*: xena may decide/);
  watching.signal('SIGINT');
  await watching.ended;
  expect(await once()).toMatchObject({ code: 0, err: '' });
  expect([types().length, mailed().length]).toEqual([2, 2]);
});

it('go to each of them once where nobody sent anything before', async () => {
  await asked();
  await leaves('dora', 'xena');
  expect(await once()).toMatchObject({ code: 0 });
  expect(types()).toEqual(['request.opened', 'request.delegated']);
  expect(mailed()).toEqual(['dora@example.org', 'xena@example.org']);
});

it('go to the delegate no more once the person is back', async () => {
  const { id } = await leaves('dora', 'xena');
  await client.away.end({ id, by: 'dora' });
  await asked();
  await once();
  expect(mailed()).toEqual(['dora@example.org']);
});
