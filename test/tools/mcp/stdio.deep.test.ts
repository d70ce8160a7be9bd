import { StdioTransport } from '../../../src/tools/mcp/stdio';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/client';
import { readAnswer } from '../../../src/tools/mcp/result';
import type { McpServer } from '../../../src/tools/mcp/declare';
import { until } from '../../support/until';
import { act, always, connect, HOSTILE, hostile } from './support';

const hide = (text: string): string => text;
const codec = { deserializeMessage, serializeMessage };
const program = (script: string, env: Record<string, string> = {}) =>
  new StdioTransport({ command: process.execPath, args: ['-e', script], cwd: '.', env, hide }, codec);
const message = { jsonrpc: '2.0', id: 1, method: 'ping' } as const;

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('ends a server that looks neither at its input nor at SIGTERM', async () => {
  const transport = program(
    "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.stderr.write(String(process.pid))",
  );
  let closed = 0;
  transport.onclose = () => void (closed += 1);
  await transport.start();
  const pid = Number(await until('its number', () => transport.lastWords() || undefined));
  await transport.close();
  expect({ alive: isAlive(pid), closed }).toEqual({ alive: false, closed: 1 });
});

it('ends what a server has started, with it', async () => {
  const { connection } = connect(hostile());
  const pid = Number(readAnswer(await act(connection, 'child'), { server: 'hostile', tool: 'act' }));
  expect(isAlive(pid)).toBe(true);
  await connection.close();
  await until('the end of the child', () => !isAlive(pid));
});

it('proves that nothing was sent once the server has ended', async () => {
  const transport = program('');
  const closed = new Promise<void>((resolve) => (transport.onclose = resolve));
  await transport.start();
  await closed;
  await expect(transport.send(message)).rejects.toMatchObject({ nothingSent: true });
  await transport.close();
});

it.each([
  ['never reads our answers to its requests', 1000, 100, 'it does not read what is sent to it'],
  ['sends requests whose ids are too long', 4 * 1024 * 1024, 1, 'it sent a request whose id is too long'],
])('ends a server that %s', async (_case, length, atOnce, why) => {
  const script = `
    const line = JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(${length}), method: 'ping' }) + '\\n';
    const more = () => void process.stdout.write(line.repeat(${atOnce}), more);
    process.stderr.write('number ' + process.pid);
    more();
  `;
  const server = hostile();
  const start = { ...server.start, args: ['-e', script] } as typeof server.start;
  const { connection } = connect({ ...server, start });
  try {
    const error: unknown = await connection.list(always()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'TransportError', message: expect.stringContaining(why) });
    const [, pid] = /number (\d+)/.exec(String(error)) ?? [];
    expect(Number(pid)).toBeGreaterThan(0);
    await until('the end of its group', () => !isAlive(-Number(pid)));
  } finally {
    await connection.close();
  }
});

it('reads messages that come in pieces, and the last ones of a server that ends', async () => {
  const line = JSON.stringify({ jsonrpc: '2.0', method: 'é' });
  const bytes = JSON.stringify([...Buffer.from(`${line}\r\n${line}\nrubbish\n${line}\n`)]);
  const transport = program(`for (const byte of ${bytes}) process.stdout.write(Buffer.from([byte]))`);
  const read: unknown[] = [];
  transport.onmessage = (one) => read.push(one);
  const closed = new Promise<void>((resolve) => (transport.onclose = resolve));
  await transport.start();
  await closed;
  expect(read).toEqual(Array(3).fill({ jsonrpc: '2.0', method: 'é' }));
});

it('gives a server the few variables that the protocol names, and those of the config', async () => {
  process.env['COUNTERSIGN_TEST_SECRET'] = 'not for a server';
  const server = hostile();
  const env = { GIVEN: '${COUNTERSIGN_TEST_SECRET:-x}', FROM: { secret: 'vault' }, PLAIN: 'as it is' };
  const { connection } = connect({ ...server, start: { ...server.start, env } as typeof server.start });
  try {
    const text = readAnswer(await act(connection, 'environment'), { server: 'hostile', tool: 'act' });
    const found: Record<string, string> = JSON.parse(text);
    const names = Object.keys(found).filter((name) => !name.startsWith('COUNTERSIGN_COMMAND_'));
    const usual = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'GIVEN', 'FROM', 'PLAIN'];
    expect(names.filter((name) => !usual.includes(name))).toEqual([]);
    expect(found).toMatchObject({ GIVEN: 'not for a server', FROM: 'value of vault', PLAIN: 'as it is' });
  } finally {
    delete process.env['COUNTERSIGN_TEST_SECRET'];
    await connection.close();
  }
});

it.each<[string, Partial<Extract<McpServer['start'], { kind: 'stdio' }>>, string]>([
  ['a variable whose name says that it is secret', { args: [HOSTILE, '${TEST_API_KEY}'] }, 'hunter2 hunter2'],
  ['a variable of a value whose name does', { env: { TOKEN: 'x-${TEST_PLAIN}' } }, 'plain enough'],
  [
    'a value that stands in the config under such a name',
    { env: { PASSWORD: 'correct horse' } },
    'correct horse',
  ],
])('redacts %s', async (_, start, secret) => {
  const server = hostile();
  process.env['TEST_API_KEY'] = 'hunter2 hunter2';
  process.env['TEST_PLAIN'] = 'plain enough';
  const { connection, secrets } = connect({
    ...server,
    start: { ...server.start, ...start } as typeof server.start,
  });
  try {
    await connection.list(always());
    expect(secrets.hide(`it is ${secret}.`)).toBe('it is [redacted].');
    expect(secrets.hide(`${process.execPath} and plain words`)).toBe(`${process.execPath} and plain words`);
  } finally {
    delete process.env['TEST_API_KEY'];
    delete process.env['TEST_PLAIN'];
    await connection.close();
  }
});
