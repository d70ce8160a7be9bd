import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkChannels } from '../../../src/cli/doctor/notify';
import { scratchDirectory } from '../../support/scratch';
import { startMailServer } from '../../notify/mail-server';
import { APP_TOKEN, BOT_TOKEN, startSlackServer } from '../../notify/slack-server';

const directory = scratchDirectory();
const check = (text: string, env: NodeJS.ProcessEnv = {}) => {
  const file = join(directory(), 'notify.yaml');
  writeFileSync(file, text);
  return checkChannels(file, env);
};

it('looks at nothing where there is no file', async () => {
  expect(await checkChannels(undefined, {})).toEqual([]);
});

it('says what each channel lacks, and sends nothing', async () => {
  const server = await startMailServer({ authOptional: true });
  const mail = 'kind: mail, tls: none, from: bot@example.org, to: [ann@example.org]';
  const text = `
page: https://inbox.example.org
channels:
  hook: { kind: webhook, url: https://example.org/hook }
  log: { kind: command, run: exit 1 }
  good: { ${mail}, urlEnv: GOOD }
  gone: { ${mail}, urlEnv: GONE }
`;
  const found = await check(text, { GOOD: `smtp://127.0.0.1:${server.port}`, GONE: 'smtp://127.0.0.1:1' });
  expect(found.map(({ name, state }) => `${name} ${state}`)).toEqual([
    'channel hook bad',
    'channel log ok',
    'channel good ok',
    'channel gone bad',
  ]);
  expect(server.mails).toEqual([]);
  await server.close();
});

it('looks whether Slack takes both tokens, and posts nothing', async () => {
  const slack = await startSlackServer();
  const text = `
page: https://inbox.example.org
channels:
  both: { kind: slack, api: '${slack.api}', to: [C1] }
  bot: { kind: slack, api: '${slack.api}', to: [C1], appTokenEnv: NONE }
  wrong: { kind: slack, api: '${slack.api}', to: [C1], tokenEnv: WRONG }
`;
  const env = {
    COUNTERSIGN_SLACK_TOKEN: BOT_TOKEN,
    COUNTERSIGN_SLACK_APP_TOKEN: APP_TOKEN,
    WRONG: 'xoxb-wrong',
  };
  expect((await check(text, env)).map(({ state, detail }) => `${state} ${detail}`)).toEqual([
    expect.stringMatching(/^ok countersign posts in Acme.*hears what is clicked/),
    'ok countersign posts in Acme, without buttons',
    expect.stringMatching(/^bad Slack refused the token: invalid_auth/),
  ]);
  expect(slack.messages).toEqual([]);
  await slack.close();
});

it('says what is wrong with the file', async () => {
  expect(await check('channels: {}')).toEqual([
    expect.objectContaining({ name: 'channels', state: 'bad', detail: expect.stringContaining('empty') }),
  ]);
});
