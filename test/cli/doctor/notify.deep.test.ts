import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkChannels } from '../../../src/cli/doctor/notify';
import { scratchDirectory } from '../../support/scratch';
import { startMailServer } from '../../notify/mail-server';

const directory = scratchDirectory();

it('sends a test over each channel, or over one, and says how that went', async () => {
  const server = await startMailServer({ authOptional: true });
  const file = join(directory(), 'notify.yaml');
  writeFileSync(
    file,
    `
page: https://inbox.example.org
channels:
  fine: { kind: command, run: "cat > ${join(directory(), 'out')}" }
  broken: { kind: command, run: exit 3 }
  post: { kind: mail, tls: none, from: bot@example.org, to: [ann@example.org], urlEnv: MAIL }
`,
  );
  const env = { PATH: process.env['PATH'], MAIL: `smtp://127.0.0.1:${server.port}` };
  const send = (only?: string) => checkChannels(file, env, { only, to: 'ann', warn: () => undefined });
  const fine = { name: 'channel fine', state: 'ok', detail: 'sent to the command' };
  expect(await send()).toEqual([
    fine,
    { name: 'channel broken', state: 'bad', detail: 'it ended with 3' },
    { name: 'channel post', state: 'ok', detail: 'sent to mail by 127.0.0.1' },
  ]);
  expect(server.mails.map(({ text }) => /^Subject: (.*)\r$/m.exec(text)?.[1])).toEqual([
    'Test: notifications',
  ]);
  expect(await send('fine')).toEqual([fine]);
  expect(await send('nope')).toEqual([
    expect.objectContaining({ name: 'channels', state: 'bad', todo: 'It has fine, broken, post.' }),
  ]);
  await server.close();
});
