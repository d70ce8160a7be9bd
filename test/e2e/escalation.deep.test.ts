import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { type MailServer, startMailServer } from '../notify/mail-server';
import { type RunningCommand, startCli } from '../cli/process';
import { runCli } from '../cli/run-cli';
import { type PostServer, startPostServer } from '../cli/receiver';
import { recordTool, TAG_SCHEMA, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const directory = scratchDirectory();
const agent = `escalating-${process.pid}`;
let fixture: Fixture;
let client: Countersign;
let posts: PostServer;
let mails: MailServer;
let watching: RunningCommand | undefined;

const FILE = `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  anna: { mail: anna@example.org }
  lea: { groups: [leads], mail: lea@example.org }
  leo: { groups: [leads] }
rules:
  - name: late
    tools: [late]
    then: ask
    approvers: { any: [anna] }
    escalate: { after: 2s, to: ['group:leads'] }
  - name: default
    then: by_safety
`;

beforeAll(async () => {
  fixture = await startFixture({});
  const approvers = join(fixture.directory, 'approvers.yaml');
  writeFileSync(approvers, FILE);
  const late = recordTool(effects, { name: 'late', safety: 'dangerous', parameters: TAG_SCHEMA });
  const clerk = defineAgent({ name: agent, instructions: 'do', model: book.model, tools: [late] });
  await fixture.addWorker({}, { agents: [clerk], approvers });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());
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
  for (const { turn } of await client.inbox({ agent })) await client.cancel(turn);
  await Promise.all([posts.close(), mails.close()]);
});

const settings = () => ({
  cwd: directory(),
  env: {
    TEMPORAL_ADDRESS: testAddress(),
    XDG_STATE_HOME: directory(),
    COUNTERSIGN_NOTIFY_SECRET: 'a secret that is long enough',
    COUNTERSIGN_SMTP_URL: `smtp://127.0.0.1:${mails.port}`,
  },
});
const ARGS = ['watch', '--channels', 'notify.yaml', '--agent', agent];
const watch = (): RunningCommand => (watching = startCli(ARGS, settings()));
const once = () => runCli([...ARGS, '--once'], settings());

const asked = async (): Promise<string> => {
  const prompt = book.add({ toolCalls: [{ name: 'late', arguments: { tag: 'x' } }] }, { text: 'done' });
  return (await client.start({ agent, prompt, taskQueue: fixture.taskQueue })).turn;
};
const escalated = (turn: string): Promise<unknown> =>
  until('the escalation', async () => (await client.view(turn)).calls[0]?.isEscalated === true);
const types = (): string[] => posts.posts.map(({ body }) => JSON.parse(body).type);
const mailed = (): string[] => mails.mails.flatMap(({ to }) => to);
const BOTH = ['request.opened', 'request.escalated'];

it('goes to those who may decide since then, and nobody hears of it twice', async () => {
  watch();
  const turn = await asked();
  await escalated(turn);
  await until('both notices', () => types().length === 2 && mailed().length === 2);
  expect(types()).toEqual(BOTH);
  expect(JSON.parse(posts.posts[1]?.body ?? '{}').data).toMatchObject({
    turn,
    voting: { escalated: true, escalatedTo: ['lea', 'leo'] },
  });
  expect(mailed()).toEqual(['anna@example.org', 'lea@example.org']);
  expect(mails.mails[1]?.text.replaceAll('=\r\n', '')).toMatch(/now asks +lea, leo/);
  watching?.signal('SIGINT');
  await watching?.ended;
  expect(await once()).toMatchObject({ code: 0, err: '' });
  expect([types().length, mailed().length]).toEqual([2, 2]);
});

it('is sent by a notifier that was not there when it happened', async () => {
  const running = watch();
  const turn = await asked();
  await until('the first', () => types().length >= 1 && mailed().length >= 1);
  running.signal('SIGKILL');
  await running.ended;
  await escalated(turn);
  await once();
  expect(new Set(types())).toEqual(new Set(BOTH));
  expect(new Set(mailed())).toEqual(new Set(['anna@example.org', 'lea@example.org']));
});

it('is sent to each of them once where nobody sent anything before', async () => {
  const turn = await asked();
  await escalated(turn);
  expect(await once()).toMatchObject({ code: 0 });
  expect(types()).toEqual(BOTH);
  expect(mailed()).toEqual(['anna@example.org', 'lea@example.org']);
});

it('brings the request into the list of those who may decide it by then, as the file of the day says', async () => {
  const turn = await asked();
  const file = join(directory(), 'today.yaml');
  writeFileSync(file, FILE);
  const mine = async (who: string): Promise<string[]> => {
    const args = ['inbox', '--mine', '--as', who, '--approvers', file, '--agent', agent, '--json'];
    const { out } = await runCli(args, settings());
    return JSON.parse(out).map((item: { turn: string }) => item.turn);
  };
  await escalated(turn);
  expect(await mine('lea')).toEqual([turn]);
  expect(await mine('ANNA@example.org')).toEqual([turn]);
  writeFileSync(file, FILE.replace('lea: { groups: [leads]', 'lea: { groups: []'));
  expect(await mine('lea')).toEqual([]);
  expect(await mine('anna')).toEqual([turn]);
  const { code, err } = await runCli(['inbox', '--mine', '--as', 'eve', '--approvers', file], settings());
  expect([code, err]).toEqual([2, expect.stringContaining('eve is not in')]);
});
