import type { JsonObject } from '../../../src/contract/json';
import { type Agent, defineAgent } from '../../../src/tools/define-agent';
import { createHttpTools } from '../../../src/tools/http';
import { startFixture, type Fixture, type TurnHandle } from '../../support/fixture';
import { readBack, scriptBook } from '../../support/script-book';
import { decide, resolve, scheduledInputs, seenOf, waitFor } from '../../support/turns';
import { rawBytes } from '../../support/vault';
import { useServer } from './servers';

const VALUE = 'k3y/of+the"bank?&so=on';

/** Pays, and says with which key; `/lost` pays and closes, so that nobody reads an answer. */
const bank = useServer(({ url, headers }, response) => {
  if (url === '/lost') return void response.socket?.destroy();
  const key = String(headers['x-key']);
  const echo = { key, auth: Buffer.from(`bank:${key}`).toString('base64'), url: encodeURIComponent(key) };
  return void response.writeHead(200, { 'x-echo': key }).end(JSON.stringify(echo));
});

const book = scriptBook();
let fixture: Fixture;

const payer = (headers: readonly string[]): Agent =>
  defineAgent({
    ...{ name: 'payer', instructions: 'pay', model: book.model },
    tools: createHttpTools({
      hosts: [bank.host],
      privateHosts: [bank.host],
      secrets: { BANK: { hosts: [bank.host], headers } },
    }),
  });

beforeAll(async () => {
  fixture = await startFixture({ agents: [payer(['x-key'])], secrets: () => VALUE });
});

const ask = (
  args: JsonObject,
  { host = bank.host, on = fixture }: { host?: string; on?: Fixture } = {},
): Promise<TurnHandle> => {
  const url = `http://${host}${String(args['url'])}`;
  const headers = { 'x-key': '{{secret:BANK}}' };
  const call = { name: 'http_request', arguments: { headers, ...args, url } };
  return on.start('payer', book.add({ toolCalls: [call] }, readBack));
};

/** Asks, looks and approves. */
const approved = async (args: JsonObject): Promise<TurnHandle> => {
  const handle = await ask(args);
  await waitFor(handle, '1.1');
  const { seenDigest } = await seenOf(handle);
  expect(bank.connections()).toBe(0);
  const decision = { callId: '1.1', decision: 'approved', approver: 'ann', seenDigest } as const;
  expect(await decide(handle, decision)).toMatchObject({ accepted: true });
  return handle;
};

/** The value as it is, and in every form in which a text may hold it. */
const forms = (): string[] => [
  VALUE,
  JSON.stringify(VALUE).slice(1, -1),
  encodeURIComponent(VALUE),
  Buffer.from(VALUE).toString('base64').slice(0, -4),
  Buffer.from(`bank:${VALUE}`).toString('base64').slice(8, -4),
];

test('a POST asks, is sent once, and its secret is nowhere in the history', async () => {
  const handle = await approved({ method: 'POST', url: '/pay', body: '{"cents":100}' });
  const { answer, counts } = await handle.result();
  expect(counts).toMatchObject({ failed: 0, inDoubt: 0 });
  expect(answer).toContain('200 OK');
  expect(answer).toContain('"key":"[redacted]"');
  expect(bank.heard).toEqual([
    expect.objectContaining({
      method: 'POST',
      url: '/pay',
      body: '{"cents":100}',
      headers: expect.objectContaining({ 'x-key': VALUE }),
    }),
  ]);
  const [input] = await scheduledInputs(handle, 'http_request');
  expect(input).toMatchObject({ effect: 'unsafe', arguments: { headers: { 'x-key': '{{secret:BANK}}' } } });
  const raw = (await rawBytes(fixture, handle.workflowId)).toString('latin1');
  expect(raw).toContain('with the secret BANK');
  expect(forms().filter((form) => raw.includes(form))).toEqual([]);
});

test('a GET of a listed host runs at once, as a call that may run again', async () => {
  const handle = await ask({ url: '/balance' });
  const { answer } = await handle.result();
  expect(answer).toContain('200 OK');
  const [input] = await scheduledInputs(handle, 'http_request');
  expect(input).toMatchObject({ effect: 'pure' });
  expect(input).not.toHaveProperty('decision');
  const raw = (await rawBytes(fixture, handle.workflowId)).toString('latin1');
  expect(forms().filter((form) => raw.includes(form))).toEqual([]);
});

test('a server that reads a POST and closes leaves it in doubt, and it is not sent again', async () => {
  const handle = await approved({ method: 'POST', url: '/lost' });
  await waitFor(handle, '1.1', 'in_doubt');
  await resolve(handle, { callId: '1.1', resolution: 'happened', content: 'it was paid', approver: 'ann' });
  const { answer, counts } = await handle.result();
  expect(counts).toMatchObject({ inDoubt: 1 });
  expect(answer).toContain('it was paid');
  expect(bank.heard).toHaveLength(1);
});

describe('where a person changes a request', () => {
  /** What was asked for, with these changes, as a person gives it. */
  const change = async (handle: TurnHandle, args: JsonObject): Promise<void> => {
    const { seenDigest } = await seenOf(handle);
    const url = `http://${bank.host}/changed`;
    const rest = { method: 'GET', url, headers: {}, body_encoding: 'text', ...args };
    const edit = {
      callId: '1.1',
      decision: 'modified',
      approver: 'ann',
      seenDigest,
      arguments: rest,
    } as const;
    expect(await decide(handle, edit)).toMatchObject({ accepted: true });
  };
  const approve = async (handle: TurnHandle): Promise<void> => {
    await waitFor(handle, '1.1');
    const { seenDigest } = await seenOf(handle);
    const decision = { callId: '1.1', decision: 'approved', approver: 'ann', seenDigest } as const;
    expect(await decide(handle, decision)).toMatchObject({ accepted: true });
  };
  const effects = async (handle: TurnHandle): Promise<unknown[]> =>
    (await scheduledInputs(handle, 'http_request')).map(({ effect }) => effect);

  test('into one that reads, it may run again', async () => {
    const handle = await ask({ method: 'POST', url: '/pay' });
    await waitFor(handle, '1.1');
    await change(handle, { method: 'GET' });
    await approve(handle);
    expect((await handle.result()).counts).toMatchObject({ failed: 0 });
    expect(await effects(handle)).toEqual(['pure']);
    expect(bank.heard).toEqual([expect.objectContaining({ method: 'GET', url: '/changed' })]);
  });

  test('that reads into one that does not, it is previewed again and sent at most once', async () => {
    const handle = await ask({ url: '/balance?token=abc' });
    await waitFor(handle, '1.1');
    await change(handle, { method: 'DELETE' });
    await approve(handle);
    expect((await handle.result()).counts).toMatchObject({ failed: 0 });
    expect(await effects(handle)).toEqual(['unsafe']);
    expect(bank.heard).toEqual([expect.objectContaining({ method: 'DELETE' })]);
  });

  test('twice, it does not run as another than it was prepared as', async () => {
    const handle = await ask({ method: 'POST', url: '/pay' });
    await waitFor(handle, '1.1');
    await change(handle, { method: 'GET' });
    await waitFor(handle, '1.1');
    // What only reads has no preview, so this edit runs at once.
    await change(handle, { method: 'DELETE' });
    const { answer, counts } = await handle.result();
    expect(answer).toContain('it was prepared as pure and would run as unsafe; ask for it again');
    expect(counts).toMatchObject({ failed: 1, inDoubt: 0 });
    expect(bank.connections()).toBe(0);
  });

  test('into a private address, it is not asked about, and the old one stays', async () => {
    const handle = await ask({ method: 'POST', url: '/pay' });
    await waitFor(handle, '1.1');
    await change(handle, { url: 'http://169.254.169.254/' });
    await approve(handle);
    await handle.result();
    expect(bank.heard).toEqual([expect.objectContaining({ method: 'POST', url: '/pay' })]);
  });
});

test('a POST that reaches nobody fails, and is in no doubt', async () => {
  const handle = await ask({ method: 'POST', url: '/', headers: {} }, { host: 'nobody.invalid' });
  await waitFor(handle, '1.1');
  const { seenDigest } = await seenOf(handle);
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann', seenDigest });
  const { answer, counts } = await handle.result();
  expect(answer).toContain('no connection to nobody.invalid');
  expect(counts).toMatchObject({ failed: 1, inDoubt: 0 });
});

test('what was approved by the rules of one worker is not sent by a worker that has others', async () => {
  const on = await startFixture({ agents: [payer(['x-key'])], secrets: () => VALUE });
  const handle = await ask({ method: 'POST', url: '/pay' }, { on });
  await waitFor(handle, '1.1');
  const { seenDigest } = await seenOf(handle);
  await on.addWorker({}, { agents: [payer(['x-key', 'x-other'])] });
  await on.workers[0]?.stop();
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann', seenDigest });
  const { answer, counts } = await handle.result();
  expect(answer).toContain('refused');
  expect(counts).toMatchObject({ failed: 1, inDoubt: 0 });
  expect(bank.heard).toEqual([]);
});
