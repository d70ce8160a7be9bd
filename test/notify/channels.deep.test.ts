import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openChannel } from '../../src/notify/channels';
import type { ChannelSettings } from '../../src/notify/channels-file';
import { scratchDirectory } from '../support/scratch';
import { never, notice } from './support';

const directory = scratchDirectory();
const MAIL: ChannelSettings = {
  ...{ kind: 'mail', urlEnv: 'MAIL_URL', tls: 'required', from: 'bot@example.org', to: ['a@example.org'] },
};
const open = (settings: ChannelSettings, env: NodeJS.ProcessEnv = {}) =>
  openChannel(settings, {
    file: { page: 'https://h', channels: { mail: MAIL } },
    env: { PATH: process.env['PATH'], ...env },
    client: { view: () => Promise.reject(new Error('none')) },
    warn: () => undefined,
  });

it('opens each kind without connecting', async () => {
  const url = 'https://example.org/s3cret';
  const hook = await open({ kind: 'webhook', url, secretEnv: 'HOOK' }, { HOOK: 'x'.repeat(16) });
  expect(hook.name).toBe('example.org');
  const mail = await open(MAIL, { MAIL_URL: 'smtps://u:s3cret@mail.example.org' });
  expect(mail.name).toBe('mail by mail.example.org');
  expect(await mail.targetsOf?.(notice('a'))).toEqual(['a@example.org']);
});

it.each<[string, ChannelSettings, RegExp]>([
  ['of a webhook', { kind: 'webhook', url: 'https://h', secretEnv: 'HOOK' }, /Set HOOK|needs a secret/],
  ['of mail', MAIL, /nothing says where the mail server is/],
  [
    'of Slack',
    {
      ...{ kind: 'slack', tokenEnv: 'BOT', appTokenEnv: 'APP', to: ['C1'] },
      api: 'https://slack.com/api/',
    },
    /nothing says the token for Slack/,
  ],
  [
    'of web push',
    {
      ...{ kind: 'web-push', publicKey: 'B', keyEnv: 'KEY', subject: 'mailto:a@example.org' },
      privateHosts: [],
    },
    /nothing says the key that web push is signed with/,
  ],
  ['of mail in a file', { ...MAIL, urlFile: '/no/such/file' }, /does not exist/],
])('says that a secret is missing: %s', async (_name, settings, why) => {
  await expect(open(settings)).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(why) });
});

it('gives a command no secret of another channel', async () => {
  const out = join(directory(), 'out');
  const command = await open({ kind: 'command', run: `env > ${out}` }, { MAIL_URL: 's3cret', OTHER: 'seen' });
  await command.deliver(notice('a'), never);
  expect(readFileSync(out, 'utf8')).toMatch(/OTHER=seen/);
  expect(readFileSync(out, 'utf8')).not.toMatch(/s3cret/);
});
