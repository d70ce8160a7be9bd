import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, ClientOptions } from '@modelcontextprotocol/client';
import { EVERYTHING } from '../../src/authority/rules/permits';
import { isObject, type JsonObject } from '../../src/contract/json';
import { placeOfCall } from '../../src/gateway/call-id';
import { serveHttp } from '../../src/gateway/http';
import type { People } from '../../src/server/auth/people';
import { approveNext, denyNext, waitForEnd, waitForRequest } from '../../src/testing';
import { type Rogue, startRogue } from '../support/oidc';
import { until } from '../support/until';
import { sendRaw, useGateway } from './support';

type RunningHttp = Awaited<ReturnType<typeof serveHttp>>;

const held = useGateway(
  {
    mcpTools: {
      files__create_directory: { requestExpires: '1 second' },
      files__read_text_file: { safety: 'safe', effect: 'pure' },
      every__get_tiny_image: { safety: 'safe', effect: 'pure' },
      memory__read_graph: { safety: 'safe', effect: 'pure' },
    },
    hookTools: { Bash: {}, Write: { requestExpires: '1 second' } },
  },
  {
    // Another definition than the server has now: somebody allowed an earlier one.
    change: (name, tools) => name === 'every' && delete tools['get-sum'],
    hold: { first: 100, progress: 100, withProgress: 60_000, without: 300 },
  },
);

const writes = (name: string, content = 'hi') => ({
  name: 'files__write_file',
  arguments: { path: join(held.here.folder, name), content },
});
const written = (name: string): string | undefined => {
  const path = join(held.here.folder, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
};
/** How often the server did this: it writes a line into a file for each call. */
const effectsOf = (how: string): number => {
  const path = join(held.here.folder, 'effects');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.filter((line) => line === how).length;
};
const textOf = (answer: unknown): string => JSON.stringify(answer);
const pendingId = (answer: unknown): string => /id (gateway-[0-9a-f~-]+)/.exec(textOf(answer))?.[1] ?? '';
/** The turn of a call that has such an id. */
const turnIn = (id = ''): string => id.split('~')[0] ?? '';
/** Waits until a turn is on record. */
const recorded = (turn: string) =>
  until(`the turn ${turn}`, () => held.here.client.view(turn).catch(() => undefined));
/** The turn of a named call that waits. */
const turnOf = (task: Record<string, unknown>): string => String(task['taskId']);
const keyed = (key: string) => ({ _meta: { 'claudecode/toolUseId': key } });

/** Waits for the end of a task, as a client does. */
const endOfTask = (user: string, taskId: string) =>
  until(`the end of ${taskId}`, async () => {
    const task = await held.here.send(user, 'tasks/get', { taskId });
    return task['status'] !== 'working' && task;
  });

it('lists what was allowed under our names, and not what was not', async () => {
  const client = await held.here.connect('ann');
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['files__write_file', 'every__echo', 'countersign_wait']));
  for (const absent of ['every__get_sum', 'agent__bash']) expect(names).not.toContain(absent);
});

it('runs a safe call at once, without a turn, and hands its image on', async () => {
  const client = await held.here.connect('ann');
  const { content } = await client.callTool({ name: 'every__get_tiny_image', arguments: {} });
  expect(JSON.stringify(content)).toContain('"type":"image"');
  // Only its own: gateways of other test files start turns on the same server.
  expect(await held.here.client.list({ agent: 'gateway', search: 'every__get_tiny_image' })).toEqual([]);
});

it('gives a client that takes tasks a task, whose end is the answer', async () => {
  const { send, client } = held.here;
  const task = await send('ann', 'tools/call', { ...writes('task.txt'), ...keyed('task-1') });
  expect(task).toMatchObject({
    resultType: 'task',
    status: 'working',
    taskId: expect.stringMatching(/^gateway-/),
  });
  const taskId = turnOf(task);
  await waitForRequest(client, taskId);
  expect(await send('ann', 'tasks/get', { taskId })).toMatchObject({
    ...{ status: 'working', statusMessage: expect.stringContaining('a person has to decide') },
  });
  expect(await send('bea', 'tasks/get', { taskId })).toMatchObject({ code: -32602 });
  expect(await send('bea', 'tasks/cancel', { taskId })).toMatchObject({ code: -32602 });
  await approveNext(client, taskId);
  const ended = await endOfTask('ann', taskId);
  expect(ended).toMatchObject({
    status: 'completed',
    result: { resultType: 'complete', content: [{ type: 'text' }] },
  });
  expect(written('task.txt')).toBe('hi');
});

it('cancels a task, and then nothing runs', async () => {
  const { send, client } = held.here;
  const taskId = turnOf(await send('ann', 'tools/call', { ...writes('cancel.txt'), ...keyed('cancel-1') }));
  await waitForRequest(client, taskId);
  expect(await send('ann', 'tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' });
  expect(await endOfTask('ann', taskId)).toMatchObject({ status: 'cancelled' });
  expect(written('cancel.txt')).toBeUndefined();
});

it('answers a repeat under the same id with the first answer, and refuses another call under it', async () => {
  const { send, client } = held.here;
  const call = { ...writes('repeat.txt', 'one'), ...keyed('repeat-1') };
  const taskId = turnOf(await send('ann', 'tools/call', call));
  expect(turnOf(await send('ann', 'tools/call', call))).toBe(taskId);
  await approveNext(client, taskId);
  await endOfTask('ann', taskId);
  // A busy server's answer can take longer than a client that takes tasks is held.
  const again = await send('ann', 'tools/call', call);
  const result = 'taskId' in again ? (await endOfTask('ann', turnOf(again)))['result'] : again;
  expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text' }] });
  expect([undefined, taskId]).toContain(again['taskId']);
  const other = await send('ann', 'tools/call', { ...writes('repeat.txt', 'two'), ...keyed('repeat-1') });
  expect(textOf(other)).toContain('this id was given for another tool or other arguments; nothing ran');
  expect(written('repeat.txt')).toBe('one');
  const ofBea = await send('bea', 'tools/call', call);
  expect(turnOf(ofBea)).not.toBe(taskId);
  await denyNext(client, turnOf(ofBea));
});

it('records one of two calls that come at once under one id', async () => {
  const { send, client } = held.here;
  const race = (user: string, content: string) =>
    send(user, 'tools/call', { ...writes('race.txt', content), ...keyed('race-1') });
  const own = await Promise.all([race('ann', 'one'), race('ann', 'two')]);
  const [task = '', ...others] = own.flatMap(({ taskId }) => taskId ?? []).map(String);
  expect(others).toEqual([]);
  expect(textOf(own)).toContain('this id was given for another tool or other arguments; nothing ran');
  const theirs = turnOf(await race('bea', 'three'));
  expect(theirs).not.toBe(task);
  for (const turn of [task, theirs]) await denyNext(client, turn);
});

it('joins a call without an id while it is open, asks anew afterwards, and keeps both answers apart', async () => {
  const { client } = held.here;
  const [one, two] = await Promise.all([held.here.connect('ann'), held.here.connect('ann')]);
  const asks = () => Promise.all([one, two].map((each) => each.callTool(writes('join.txt'))));
  const answerOf = async (id: string) =>
    textOf(await one.callTool({ name: 'countersign_wait', arguments: { id } }));
  const [first = '', ...joined] = (await asks()).map(pendingId);
  expect(joined).toEqual([first]);
  const turn = turnIn(first);
  await denyNext(client, turn, { reason: 'the first' });
  await waitForEnd(client, turn);
  const [later = ''] = (await asks()).map(pendingId);
  expect([later === first, turnIn(later)]).toEqual([false, turn]);
  await waitForRequest(client, turn);
  expect(await answerOf(first)).toContain('the first');
  await held.here.send('ann', 'tasks/cancel', { taskId: first });
  await denyNext(client, turn, { reason: 'the later' });
  expect(await answerOf(later)).toContain('the later');
});

/** The clients of the protocols before 2026-07-28, and of that one. */
const CLIENTS: [string, ClientOptions][] = [
  ['an earlier', {}],
  ["today's", { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
];

/** The turn of a call of ann that has no id. */
const turnFor = ({ name, arguments: args }: { name: string; arguments: JsonObject }) =>
  placeOfCall({ who: 'ann', tool: name, arguments: args }, held.here.place).turn;

/** A call of the official client, which hears of progress and waits as long as it does. */
const ask = (client: Client, call: { name: string; arguments: JsonObject }, signal?: AbortSignal) => {
  const heard: unknown[] = [];
  const onprogress = (one: unknown) => void heard.push(one);
  const answer = client.callTool(call, {
    onprogress,
    resetTimeoutOnProgress: true,
    ...(signal && { signal }),
  });
  answer.catch(() => undefined);
  return { answer, heard, turn: turnFor(call) };
};

describe.each(CLIENTS)('%s client', (which, options) => {
  const file = (name: string) => writes(`${which.split(/\W/)[0] ?? ''}-${name}`);
  const path = (name: string) => String(file(name).arguments.path);

  it('hears of progress, and gets what a person made of its call', async () => {
    const client = await held.here.connect('ann', options);
    const { answer, heard, turn } = ask(client, file('edit'));
    await recorded(turn);
    await until('progress', () => heard.length > 1);
    await approveNext(held.here.client, turn, { arguments: { path: path('edit'), content: 'changed' } });
    expect(textOf(await answer)).toMatch(/changed the arguments of this call.*Successfully wrote/);
    expect(readFileSync(path('edit'), 'utf8')).toBe('changed');
    expect(heard[0]).toMatchObject({ progress: 1, message: 'waits for a person to decide' });
  });

  it('reads why a person denied its call, and that nobody decided in time', async () => {
    const client = await held.here.connect('ann', options);
    const denied = ask(client, file('denied'));
    await recorded(denied.turn);
    await denyNext(held.here.client, denied.turn, { reason: 'not there' });
    expect(await denied.answer).toMatchObject({ isError: true });
    expect(textOf(await denied.answer)).toContain('not there');
    const late = ask(client, { name: 'files__create_directory', arguments: { path: path('late') } });
    expect(textOf(await late.answer)).toContain('Error [expired]');
    expect(['denied', 'late'].filter((name) => existsSync(path(name)))).toEqual([]);
  });

  it('waits again for a call that was pending, which nobody else can', async () => {
    const client = await held.here.connect('ann', options);
    const pending = await client.callTool(file('pending'));
    const id = pendingId(pending);
    expect(textOf(pending)).toContain('Pending: ');
    const wait = { name: 'countersign_wait', arguments: { id } };
    const bea = await held.here.connect('bea', options);
    expect(textOf(await bea.callTool(wait))).toContain(`There is no call ${id}`);
    await approveNext(held.here.client, turnIn(id));
    expect(textOf(await ask(client, wait).answer)).toContain('Successfully wrote');
    expect(existsSync(path('pending'))).toBe(true);
  });

  it.each(['cancels', 'vanishes'])(
    'takes an undecided call back when it %s, and no other call',
    async (how) => {
      const client = await held.here.connect('ann', options);
      const other = await held.here.connect('ann', options);
      const stop = new AbortController();
      // Two clients of a person give their requests the same ids.
      const calls = [ask(client, file(how), stop.signal), ask(other, file(`${how}-other`))] as const;
      for (const { turn } of calls) {
        await recorded(turn);
        await waitForRequest(held.here.client, turn);
      }
      if (how === 'cancels') stop.abort();
      else await client.close();
      await waitForEnd(held.here.client, calls[0].turn);
      expect(await held.here.client.view(calls[0].turn)).toMatchObject({ status: 'cancelled' });
      await approveNext(held.here.client, calls[1].turn);
      expect(textOf(await calls[1].answer)).toContain('Successfully wrote');
      expect(existsSync(path(how))).toBe(false);
    },
  );
});

it('keeps a change of what is remembered until a person has decided, and hands structured results on', async () => {
  const client = await held.here.connect('ann');
  const entities = (name: string) => ({ entities: [{ name, entityType: 'shop', observations: ['opens'] }] });
  const created = ask(client, { name: 'memory__create_entities', arguments: entities('Proposed') });
  const deleted = ask(client, { name: 'memory__delete_entities', arguments: { entityNames: ['Changed'] } });
  await recorded(created.turn);
  await approveNext(held.here.client, created.turn, { arguments: entities('Changed') });
  expect(textOf(await created.answer)).toContain('Changed');
  await recorded(deleted.turn);
  await denyNext(held.here.client, deleted.turn);
  expect(await deleted.answer).toMatchObject({ isError: true });
  const graph = await client.callTool({ name: 'memory__read_graph', arguments: {} });
  expect(graph.structuredContent).toEqual({ ...entities('Changed'), relations: [] });
});

it('lets a call that runs go on when its client cancels, and keeps its outcome', async () => {
  const client = await held.here.connect('ann');
  // The server answers no such call before there are two.
  const meet = (n: number) => ({ name: 'hostile__act', arguments: { how: 'meet', with: 2, n } });
  const stop = new AbortController();
  const first = ask(client, meet(1), stop.signal);
  await recorded(first.turn);
  await approveNext(held.here.client, first.turn);
  await until('the call to run', () => effectsOf('meet') === 1);
  stop.abort();
  await expect(first.answer).rejects.toThrow();
  const second = ask(client, meet(2));
  await recorded(second.turn);
  await approveNext(held.here.client, second.turn);
  expect(textOf(await second.answer)).toContain('met 2');
  const { status, calls } = await waitForEnd(held.here.client, first.turn);
  expect({ status, content: calls[0]?.result?.content }).toEqual({ status: 'answered', content: 'met 2' });
});

it('answers ten clients with two calls each, and each call ran once', async () => {
  const clients = await Promise.all(Array.from({ length: 10 }, () => held.here.connect('ann')));
  const calls = clients.flatMap((client, n) =>
    ['a', 'b'].map((which) => {
      const args = { how: 'echo', with: `ten-${n}-${which}` };
      return ask(client, { name: 'hostile__act', arguments: args });
    }),
  );
  const ran = () => effectsOf('echo');
  expect(ran()).toBe(0);
  await Promise.all(
    calls.map(async ({ turn }) => {
      await recorded(turn);
      await approveNext(held.here.client, turn);
    }),
  );
  const answers = (await Promise.all(calls.map(({ answer }) => answer))).map(textOf);
  for (const [at, answer] of answers.entries())
    expect(answer).toContain(`ten-${Math.floor(at / 2)}-${at % 2 === 0 ? 'a' : 'b'}`);
  expect(ran()).toBe(20);
});

it('leaves a call in doubt whose server died, and answers with what a person says about it', async () => {
  const { send, client } = held.here;
  const call = { name: 'hostile__act', arguments: { how: 'crash', with: 'x' }, ...keyed('doubt-1') };
  const taskId = turnOf(await send('ann', 'tools/call', call));
  await approveNext(client, taskId);
  await until('the doubt', async () =>
    textOf(await send('ann', 'tasks/get', { taskId })).includes('nobody knows yet whether'),
  );
  await client.resolve(taskId, { callId: '1.1', resolution: 'did-not', approver: 'ann' });
  const ended = await endOfTask('ann', taskId);
  expect(ended).toMatchObject({ status: 'completed', result: { isError: true } });
});

const MANY_KEYS = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n]));

it.each([
  ['an unknown tool', { name: 'files__nothing', arguments: {} }, 'There is no tool'],
  ['a tool of a hook', { name: 'agent__bash', arguments: {} }, 'There is no tool'],
  ['arguments that do not fit', { name: 'files__write_file', arguments: { path: 7 } }, 'Error [validation]'],
  ['arguments over 128 KiB', { name: 'every__echo', arguments: { message: 'x'.repeat(200_000) } }, 'at most'],
  [
    '20,000 keys',
    {
      name: 'every__echo',
      arguments: MANY_KEYS,
    },
    'at most',
  ],
])('answers %s with an error, and nothing runs', async (_case, call, words) => {
  const client = await held.here.connect('ann');
  const answer = await client.callTool(call);
  expect(answer.isError).toBe(true);
  expect(textOf(answer)).toContain(words);
});

describe('over HTTP', () => {
  const post = (headers: Record<string, string>, body: string, path = '/mcp') =>
    fetch(`${held.here.http.url}${path}`, {
      ...{ method: 'POST', body },
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
    });
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const asAnn = () => ({ Authorization: `Bearer ${held.here.tokens['ann']}` });

  it('wants a token, no other origin, and no body over its limit', async () => {
    expect((await post({}, list)).status).toBe(401);
    expect((await post({ Authorization: 'Bearer cs_wrong' }, list)).status).toBe(401);
    expect((await post({ ...asAnn(), Origin: 'http://evil.example' }, list)).status).toBe(403);
    // The server may close the connection before all of it has been sent.
    const long = post(asAnn(), JSON.stringify({ long: 'x'.repeat(10 * 1024 * 1024) }));
    expect(await long.then(({ status }) => status).catch(() => 413)).toBe(413);
    expect((await post(asAnn(), list)).status).toBe(200);
  });

  it('answers nobody who may not start turns, or does not see its agent', async () => {
    const { eve, hid } = held.here.tokens;
    const as = (token = '') => post({ Authorization: `Bearer ${token}` }, list);
    expect((await as(eve)).status).toBe(403);
    expect((await as(hid)).status).toBe(404);
  });

  const event = {
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'ls' },
    session_id: 's',
  };
  const turnOfHook = (id: string, tool = 'agent__bash'): string => {
    const key = ['hook', 's', id];
    return placeOfCall({ who: 'ann', tool, arguments: event.tool_input, key }, held.here.place).turn;
  };
  const hook = async (headers: Record<string, string>, body: string) => {
    const answer: unknown = await (await post(headers, body, '/hooks/claude-code')).json();
    return isObject(answer) && isObject(answer['hookSpecificOutput']) ? answer['hookSpecificOutput'] : answer;
  };

  it('answers a hook with what was approved, and the same id with the same', async () => {
    const body = JSON.stringify({ ...event, tool_use_id: 'toolu_1' });
    const asked = hook(asAnn(), body);
    const turn = turnOfHook('toolu_1');
    await recorded(turn);
    await approveNext(held.here.client, turn, { arguments: { command: 'ls -a' } });
    const allowed = { permissionDecision: 'allow', updatedInput: { command: 'ls -a' } };
    expect(await asked).toMatchObject(allowed);
    expect(await hook(asAnn(), body)).toMatchObject(allowed);
    const [call] = (await held.here.client.view(turn)).calls;
    expect(call?.result?.content).toContain('its outcome is not known here');
    const other = JSON.stringify({ ...event, tool_use_id: 'toolu_1', tool_input: { command: 'rm' } });
    expect(await hook(asAnn(), other)).toMatchObject({
      ...{ permissionDecision: 'deny', permissionDecisionReason: expect.stringContaining('nothing ran') },
    });
  });

  it.each([
    ['without a token', () => ({}), JSON.stringify(event), 'nobody is signed in'],
    ['that cannot be read', asAnn, '{', 'cannot be understood'],
    ['with 20,000 keys', asAnn, JSON.stringify({ ...event, tool_input: MANY_KEYS }), 'at most'],
    [
      'from another origin',
      () => ({ ...asAnn(), Origin: 'http://evil.example' }),
      JSON.stringify(event),
      'refused',
    ],
  ])('denies a hook %s, since a failure would let the call pass', async (_case, headers, body, words) => {
    expect(await hook(headers(), body)).toMatchObject({
      ...{ permissionDecision: 'deny', permissionDecisionReason: expect.stringContaining(words) },
    });
  });

  it('denies a hook after a denial, and lets other tools pass', async () => {
    const asked = hook(asAnn(), JSON.stringify({ ...event, tool_use_id: 'toolu_2' }));
    const turn = turnOfHook('toolu_2');
    await recorded(turn);
    await denyNext(held.here.client, turn, { reason: 'not that' });
    expect(await asked).toMatchObject({
      ...{ permissionDecision: 'deny', permissionDecisionReason: expect.stringContaining('not that') },
    });
    expect(await hook(asAnn(), JSON.stringify({ ...event, tool_name: 'Read' }))).toEqual({});
  });

  it('denies a hook on which nobody decided before its request expired', async () => {
    const asked = { ...event, tool_name: 'Write', tool_use_id: 'toolu_3' };
    expect(await hook(asAnn(), JSON.stringify(asked))).toMatchObject({
      ...{ permissionDecision: 'deny', permissionDecisionReason: expect.stringContaining('[expired]') },
    });
    const { calls } = await held.here.client.view(turnOfHook('toolu_3', 'agent__write'));
    expect(calls).toMatchObject([{ phase: 'done', outcome: 'expired' }]);
  });
});

describe('over HTTP, with tokens of an issuer', () => {
  let issuer: Rogue;
  let http: RunningHttp;
  beforeAll(async () => {
    issuer = await startRogue();
    const known: Record<string, string> = { s1: 'cleo', s2: 'dan' };
    const people: People = {
      personOf: () => undefined,
      personOfSubject: (subject) => known[subject],
      hasSubject: () => true,
      groupsOf: () => [],
      permitOf: () => EVERYTHING,
    };
    http = await serveHttp({
      ...{ gateway: held.here.gateway, version: '0', host: '127.0.0.1', port: 0, hookTools: { Bash: {} } },
      usersFile: join(held.here.folder, 'no-users.json'),
      permitOf: () => Promise.resolve(EVERYTHING),
      report: () => undefined,
      signIn: {
        publicUrl: 'http://127.0.0.1/',
        oidc: { issuer: issuer.issuer, clientId: 'gateway' },
        access: { mayFork: [], mayConverse: ['group:staff'] },
        people: () => Promise.resolve(people),
      },
    });
  });
  afterAll(() => Promise.all([http.stop(), issuer.stop()]));

  const claims = (more: Record<string, unknown> = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: issuer.issuer, aud: 'gateway', sub: 's1', groups: ['staff'], iat: now };
    return { ...usual, exp: now + 60, ...more };
  };
  const post = (path: string, token: string | undefined) =>
    fetch(`${http.url}${path}`, {
      method: 'POST',
      headers: {
        ...{ 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        tool_name: 'Bash',
        tool_input: {},
      }),
    });

  it.each<[string, number, () => Promise<string | undefined>, string]>([
    ['no token', 401, () => Promise.resolve(undefined), 'nobody is signed in'],
    ['a token that has expired', 401, () => issuer.signed(claims({ exp: 1 })), 'has expired'],
    ['one for another audience', 401, () => issuer.signed(claims({ aud: 'shop' })), 'claim `aud`'],
    ['one of another issuer', 401, () => issuer.signed(claims({ iss: 'https://e.example' })), 'claim `iss`'],
    ['one that another key signed', 401, () => issuer.forged(claims()), 'none of the keys'],
    ['one of nobody in the file', 403, () => issuer.signed(claims({ sub: 's9' })), 'nobody in the approvers'],
    ['one without the right', 403, () => issuer.signed(claims({ sub: 's2', groups: [] })), 'may not start'],
  ])('refuses %s with %i and words, and denies its hook', async (_case, status, tokenOf, words) => {
    const token = await tokenOf();
    const response = await post('/mcp', token);
    expect(response.status).toBe(status);
    expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    expect(await response.text()).toContain(words);
    const hooked = await (await post('/hooks/claude-code', token)).text();
    expect(hooked).toContain('"permissionDecision":"deny"');
    expect(hooked).toContain(words);
  });

  it('makes the person whom the token names the requester of a call', async () => {
    const call = { ...writes('issuer.txt'), ...keyed('issuer-1') };
    const ask = async (more: Record<string, unknown>) =>
      turnOf(
        await sendRaw(http.url, await issuer.signed(claims(more)), { method: 'tools/call', params: call }),
      );
    const turn = await ask({});
    expect((await held.here.client.view(turn)).origin).toMatchObject({ requester: 'cleo' });
    expect(await ask({ sub: 's2' })).not.toBe(turn);
    expect(await ask({})).toBe(turn);
  });
});
