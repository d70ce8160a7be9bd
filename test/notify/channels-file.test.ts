import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadChannels } from '../../src/notify/channels-file';
import { scratchDirectory } from '../support/scratch';

const directory = scratchDirectory();
const load = (text: string): ReturnType<typeof loadChannels> => {
  const file = join(directory(), 'notify.yaml');
  writeFileSync(file, text);
  return loadChannels(file);
};

it('is read with defaults, and paths from where it is', async () => {
  const text = `
page: https://inbox.example.org
approvers: approvers.yaml
channels:
  ops: { kind: webhook, url: https://example.org/hook, secretFile: hook.secret }
  log: { kind: command, run: cat }
  mail: { kind: mail, from: bot@example.org, to: voters, urlFile: /run/secrets/url }
  team: { kind: slack, to: [C02AB], tokenFile: bot.secret, inboxKey: inbox.pem }
`;
  expect(await load(text)).toEqual({
    page: 'https://inbox.example.org',
    approvers: join(directory(), 'approvers.yaml'),
    channels: {
      ops: {
        ...{ kind: 'webhook', url: 'https://example.org/hook', secretEnv: 'COUNTERSIGN_NOTIFY_SECRET' },
        secretFile: join(directory(), 'hook.secret'),
      },
      log: { kind: 'command', run: 'cat' },
      mail: {
        ...{ kind: 'mail', from: 'bot@example.org', to: 'voters', tls: 'required' },
        ...{ urlFile: '/run/secrets/url', urlEnv: 'COUNTERSIGN_SMTP_URL' },
      },
      team: {
        ...{ kind: 'slack', to: ['C02AB'], api: 'https://slack.com/api/' },
        ...{ tokenFile: join(directory(), 'bot.secret'), inboxKey: join(directory(), 'inbox.pem') },
        ...{ tokenEnv: 'COUNTERSIGN_SLACK_TOKEN', appTokenEnv: 'COUNTERSIGN_SLACK_APP_TOKEN' },
      },
    },
  });
});

const MAIL = 'from: a@example.org, to: [b@example.org]';
it.each<[string, string, RegExp]>([
  ['no channel', 'channels: {}', /must not be empty/],
  ['an unknown kind', 'channels: { a: { kind: fax } }', /:1:/],
  ['an unknown field', 'channels: { a: { kind: command, run: x, password: y } }', /no field `password`/],
  ['a bad name', "channels: { 'a b': { kind: command, run: x } }", /name of letters/],
  ['a page over the open net', `page: http://h\nchannels: { a: { kind: mail, ${MAIL} } }`, /:1:7: .*https/],
  [
    'a page over ftp on this machine',
    `page: ftp://localhost\nchannels: { a: { kind: mail, ${MAIL} } }`,
    /:1:7: .*https/,
  ],
  ['a page without an address', `page: inbox\nchannels: { a: { kind: mail, ${MAIL} } }`, /:1:7: .*https/],
  ['mail without a page', `channels: { a: { kind: mail, ${MAIL} } }`, /needs `page`/],
  ['no address', 'page: https://h\nchannels: { a: { kind: mail, from: x, to: [] } }', /must be an address/],
  [
    'voters without a file',
    'page: https://h\nchannels: { a: { kind: mail, from: a@example.org, to: voters } }',
    /`voters` needs `approvers`/,
  ],
  [
    'web push without approvers',
    "channels: { a: { kind: web-push, publicKey: Bxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, subject: 'mailto:a@b' } }",
    /`a` needs `approvers`/,
  ],
  [
    'a second channel of web push',
    "approvers: a\nchannels: { a: { kind: web-push, publicKey: Bxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, subject: 'mailto:a@b' }, b: { kind: web-push, publicKey: Bxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, subject: 'mailto:a@b' } }",
    /can be one channel of web push/,
  ],
  [
    'a short public key',
    "approvers: a\nchannels: { a: { kind: web-push, publicKey: Bx, subject: 'mailto:a@b' } }",
    /web push-key/,
  ],
  [
    'web push of nobody',
    'approvers: a\nchannels: { a: { kind: web-push, publicKey: Bxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, subject: ops } }',
    /mailto:/,
  ],
  ['Slack without a page', 'channels: { a: { kind: slack, to: [C1A] } }', /needs `page`/],
  [
    'a name of a channel',
    "page: https://h\nchannels: { a: { kind: slack, to: ['#ops'] } }",
    /id of a channel/,
  ],
  [
    'Slack over the open net',
    'page: https://h\nchannels: { a: { kind: slack, to: [C1A], api: http://slack.com } }',
    /https/,
  ],
  [
    'a key without people',
    'page: https://h\nchannels: { a: { kind: slack, to: [C1A], inboxKey: k } }',
    /`inboxKey` needs `approvers`/,
  ],
  ['what is not YAML', 'channels: [', /:1:/],
])('is refused with its place: %s', async (_name, text, message) => {
  await expect(load(text)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(message),
  });
});

it('has to be there', async () => {
  await expect(loadChannels(join(directory(), 'gone'))).rejects.toMatchObject({ code: 'file_failed' });
});
