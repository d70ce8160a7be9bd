import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resultLines } from '../../../src/cli/commands/notify';
import { createProgram } from '../../../src/cli/program';
import { scratchDirectory } from '../../support/scratch';
import { startMailServer } from '../../notify/mail-server';

const directory = scratchDirectory();

const run = async (text: string, args: string[], env: NodeJS.ProcessEnv = {}) => {
  const file = join(directory(), 'notify.yaml');
  writeFileSync(file, text);
  let out = '';
  const sink = { write: (chunk: string) => (out += chunk) };
  let code = 0;
  const streams = { out: sink, err: sink, env: { PATH: process.env['PATH'], ...env } };
  const program = createProgram(streams, (given) => (code = given));
  await program.parseAsync(['notify', 'test', '--channels', file, ...args], { from: 'user' });
  return { out, code };
};

it('sends a test over each channel and says how that went', async () => {
  const server = await startMailServer({ authOptional: true });
  const text = `
page: https://inbox.example.org
channels:
  fine: { kind: command, run: "cat > ${join(directory(), 'out')}" }
  broken: { kind: command, run: exit 3 }
  post: { kind: mail, tls: none, from: bot@example.org, to: [ann@example.org], urlEnv: MAIL }
`;
  const env = { MAIL: `smtp://127.0.0.1:${server.port}` };
  expect(await run(text, [], env)).toEqual({
    code: 1,
    out:
      'fine    command  ok     sent to the command\n' +
      'broken  command  error  it ended with 3\n' +
      'post    mail     ok     sent to mail by 127.0.0.1\n',
  });
  expect(server.mails.map(({ text: mail }) => /^Subject: (.*)\r$/m.exec(mail)?.[1])).toEqual([
    'Test: notifications',
  ]);
  const one = await run(text, ['fine', '--json'], env);
  expect([one.code, JSON.parse(one.out)]).toEqual([
    0,
    [{ channel: 'fine', kind: 'command', state: 'ok', detail: 'sent to the command' }],
  ]);
  await expect(run(text, ['nope'], env)).rejects.toMatchObject({ code: 'usage' });
  await server.close();
});

it('prints nothing that a terminal would obey', () => {
  const [line] = resultLines([{ channel: 'a', kind: 'mail', state: 'error', detail: '\u001b[2J' }]);
  expect(line?.text).not.toContain('\u001b');
});
