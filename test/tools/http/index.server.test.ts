import type { JsonObject } from '../../../src/contract/json';
import { defineAgent } from '../../../src/tools/define-agent';
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

beforeAll(async () => {
  const tools = createHttpTools({
    hosts: [bank.host],
    privateHosts: [bank.host],
    secrets: { BANK: { hosts: [bank.host], headers: ['x-key'] } },
  });
  const agent = defineAgent({ name: 'payer', instructions: 'pay', model: book.model, tools });
  fixture = await startFixture({ agents: [agent], secrets: () => VALUE });
});

const ask = (args: JsonObject): Promise<TurnHandle> => {
  const url = `http://${bank.host}${String(args['url'])}`;
  const headers = { 'x-key': '{{secret:BANK}}' };
  const call = { name: 'http_request', arguments: { headers, ...args, url } };
  return fixture.start('payer', book.add({ toolCalls: [call] }, readBack));
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

test('a POST that reaches nobody fails, and is in no doubt', async () => {
  const handle = await ask({ method: 'POST', url: '/', headers: {} });
  await waitFor(handle, '1.1');
  const { callKey: _, ...seen } = await seenOf(handle);
  // The new arguments are previewed, and asked about, as those of the model were.
  const unreachable = { method: 'POST', url: 'http://nobody.invalid/', headers: {}, body_encoding: 'text' };
  const edit = {
    callId: '1.1',
    decision: 'modified',
    approver: 'ann',
    arguments: unreachable,
    ...seen,
  } as const;
  expect(await decide(handle, edit)).toMatchObject({ accepted: true, asksAgain: true });
  await waitFor(handle, '1.1');
  const again = {
    callId: '1.1',
    decision: 'approved',
    approver: 'ann',
    ...(await seenAgain(handle)),
  } as const;
  expect(await decide(handle, again)).toMatchObject({ accepted: true });
  const { answer, counts } = await handle.result();
  expect(answer).toContain('no connection to nobody.invalid');
  expect(counts).toMatchObject({ failed: 1, inDoubt: 0 });
  expect(bank.connections()).toBe(0);
});

const seenAgain = async (handle: TurnHandle): Promise<{ seenDigest: string }> => {
  const { seenDigest } = await seenOf(handle);
  return { seenDigest };
};
