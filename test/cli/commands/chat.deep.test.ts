import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign } from '../../../src/client';
import { LIMITS } from '../../../src/contract/limits';
import { askUser } from '../../../src/tools/builtin/ask-user';
import { defineAgent } from '../../../src/tools/define-agent';
import { TAG_SCHEMA, recordTool, useEffects } from '../../support/effects';
import { startFixture, type Fixture } from '../../support/fixture';
import { scratchDirectory } from '../../support/scratch';
import { readBack, scriptBook } from '../../support/script-book';
import { testAddress } from '../../support/server';
import { until } from '../../support/until';
import type { Ended } from '../process';
import { runCli, typedHere } from '../run-cli';
import { endTyped, typed, type Typed } from '../typed';

const root = scratchDirectory();
const effects = useEffects();
const book = scriptBook();
const agent = 'talker';
let fixture: Fixture;
let client: Countersign;

const store = mkdtempSync(join(tmpdir(), 'countersign-test-'));
/** Answers with the last words that it reads, and the files in them. */
const reader = defineAgent({
  ...{ name: 'chat-reader', instructions: 'read', tools: [] },
  model: {
    id: 'reader',
    generate: async ({ messages }) => ({
      text: messages.at(-1)?.content ?? '',
      ...{ toolCalls: [], finishReason: 'stop' },
    }),
  },
});

const talker = () =>
  defineAgent({
    ...{ name: agent, instructions: 'talk', model: book.model },
    tools: [recordTool(effects, { name: 'pay', safety: 'dangerous', parameters: TAG_SCHEMA }), askUser()],
  });

beforeAll(async () => {
  client = await connect({ address: testAddress() });
  fixture = await startFixture({ agents: [talker(), reader], files: store });
});
afterEach(() => endTyped());
afterAll(async () => {
  await fixture.stop();
  await client.close();
  rmSync(store, { recursive: true, force: true });
});

const env = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  TEMPORAL_ADDRESS: testAddress(),
  XDG_STATE_HOME: root(),
  COLUMNS: '120',
});
const newId = (): string => `talk-${randomUUID()}`;
const args = (id: string, ...more: string[]): string[] => [
  ...['chat', agent, '--session', id, '--queue', fixture.taskQueue, '--as', 'ann'],
  ...more,
];
/** At a terminal in this process. */
const chat = (id: string): Typed => typedHere(args(id), env());
const real = (id: string): Typed => typed(args(id), env());
const piped = (id: string, input: string, ...more: string[]): Promise<Ended> =>
  runCli(args(id, ...more), { env: env(), input });
/** A prompt whose model says this. */
const saying = (text: string): string => book.add({ text });
const paying = (tag: string): string =>
  book.add({ text: 'I will pay.', toolCalls: [{ name: 'pay', arguments: { tag } }] }, readBack);

describe('at a terminal', () => {
  it('talks, leaves, and goes on where it was', async () => {
    const id = newId();
    const first = real(id);
    await first.answer(/> $/, saying('hello ann'));
    await first.sees(/^hello ann$/m);
    first.type('/exit\r');
    expect(await first.ended).toBe(0);
    expect(first.shown()).toContain(`The session goes on. Come back:`);
    const second = real(id);
    await second.sees('hello ann');
    await second.answer(/> $/, saying('welcome back'));
    await second.sees(/^welcome back$/m);
    second.type('\x04');
    expect(await second.ended).toBe(0);
    expect((await client.session(id).history()).turns.map(({ answer }) => answer)).toEqual([
      'hello ann',
      'welcome back',
    ]);
  });

  it('sends what was typed before it leaves', async () => {
    const id = newId();
    const terminal = real(id);
    await terminal.sees(/> $/);
    const typed = [saying('one'), saying('two')];
    terminal.type(`${typed.join('\r')}\r/exit\r`);
    expect(await terminal.ended).toBe(0);
    const { messages } = await client.session(id).history();
    expect(messages.map(({ text }) => text)).toEqual(typed);
  });

  it('sends files with a message: attached, dropped, refused in words, and gone once they are sent', async () => {
    const id = newId();
    const [notes, big] = [join(root(), 'my notes.txt'), join(root(), 'big.bin')];
    writeFileSync(notes, 'written in the file');
    writeFileSync(big, Buffer.alloc(LIMITS.fileBytes + 1));
    const terminal = typedHere(
      args(id).map((arg) => (arg === agent ? reader.name : arg)),
      { ...env(), COUNTERSIGN_FILES: store },
    );
    await terminal.answer(/> $/, `/file ${notes}`);
    await terminal.sees(`with your next message: ${notes} (19 B)`);
    await terminal.answer(/> $/, '/file');
    await terminal.sees('no file goes along');
    await terminal.answer(/> $/, '/file /no/such/file');
    await terminal.sees('no such file');
    await terminal.answer(/> $/, `/file ${big}`);
    await terminal.sees('big.bin is over 10 MiB');
    for (let n = 0; n < LIMITS.filesPerMessage; n++) {
      await terminal.answer(/> $/, `/file ${notes}`);
      await terminal.sees('with your next message: ');
    }
    await terminal.answer(/> $/, `/file ${notes}`);
    await terminal.sees('a message has at most 8 files');
    await terminal.answer(/> $/, '/file');
    await terminal.answer(/> $/, `/file ${notes}`);
    await terminal.sees(`with your next message: ${notes} (19 B)`);
    await terminal.answer(/> $/, 'read it');
    await terminal.sees('written in the file');
    await terminal.answer(/> $/, 'and now?');
    await terminal.sees(/^and now\?$/m);
    await terminal.answer(/> $/, '/history');
    await terminal.sees('[my notes.txt (text/plain, 19 B)]');
    terminal.type('/exit\r');
    expect(await terminal.ended).toBe(0);
    const { messages } = await client.session(id).history();
    expect(messages.map(({ files = [] }) => files.map(({ name }) => name))).toEqual([['my notes.txt'], []]);
  });

  it('says that there is no store for a file', async () => {
    const notes = join(root(), 'notes.txt');
    writeFileSync(notes, 'x');
    const terminal = chat(newId());
    await terminal.answer(/> $/, `/file ${notes}`);
    await terminal.sees(`with your next message: ${notes} (1 B)`);
    await terminal.answer(/> $/, 'read it');
    await terminal.sees('there is no store for the files of a message');
    terminal.type('/exit\r');
    expect(await terminal.ended).toBe(0);
  });

  it('shows a request, and lets it run after two yeses', async () => {
    const terminal = real(newId());
    await terminal.answer(/> $/, paying('inline'));
    await terminal.answer('Your decision [a,e,d,n,v,?]? ', 'a');
    await terminal.answer('as it is? [y/N] ', 'y');
    await terminal.sees(/approved by ann/);
    await until('the payment', async () => (await effects.lines('pay inline')).length === 1);
    terminal.type('/exit\r');
    expect(await terminal.ended).toBe(0);
  });

  it('keeps a pasted text together, and never takes it for an answer', async () => {
    const id = newId();
    const terminal = real(id);
    const paste = (text: string): void => terminal.type(`\x1b[200~${text}\x1b[201~`);
    const prompt = paying('pasted');
    await terminal.answer(/> $/, prompt);
    await terminal.sees('Your decision [a,e,d,n,v,?]? ');
    paste('a\ry\r');
    terminal.type('n\r');
    await terminal.sees('it stays undecided; /pending asks again');
    paste('one\rtwo');
    terminal.type('\r');
    await terminal.sees('it waits for its turn');
    terminal.type('three\\\rfour\r');
    await until('both messages', async () => (await client.session(id).history()).messages.length === 3);
    const { messages } = await client.session(id).history();
    expect(messages.map(({ text }) => text)).toEqual([prompt, 'one\ntwo', 'three\nfour']);
    expect(await effects.lines('pay pasted')).toEqual([]);
    await client.session(id).close({ cancel: true });
    await terminal.sees('the session is over: closed');
    expect(await terminal.ended).toBe(0);
  });

  it('asks what the agent wants to know, and gives the answer back', async () => {
    const terminal = chat(newId());
    const asking = { name: 'ask_user', arguments: { question: 'Which city?' } };
    await terminal.answer(/> $/, book.add({ toolCalls: [asking] }, readBack));
    await terminal.sees('Which city?');
    await terminal.answer(/Your answer \[.*\]\? /, 'a');
    await terminal.answer(/answer.*: $/i, 'Rome');
    await terminal.sees(/Rome/);
    await terminal.answer(/> $/, '/cost');
    await terminal.sees('2 steps');
    terminal.type('/exit\r');
    expect(await terminal.ended).toBe(0);
  });

  it('takes a question back that was decided elsewhere', async () => {
    const id = newId();
    const terminal = chat(id);
    await terminal.answer(/> $/, paying('elsewhere'));
    await terminal.sees('Your decision [a,e,d,n,v,?]? ');
    await client.decide(`${id}.t1`, { callId: '1.1', decision: 'denied', approver: 'bob', reason: 'no' });
    await terminal.sees('it does not wait any more');
    await terminal.answer(/> $/, saying('still here'));
    await terminal.sees(/^still here$/m);
    expect(await effects.lines('pay elsewhere')).toEqual([]);
  });

  it('cancels the turn at the first Ctrl-C and leaves at the second', async () => {
    const id = newId();
    const terminal = real(id);
    await terminal.answer(/> $/, paying('cancelled'));
    await terminal.answer('Your decision [a,e,d,n,v,?]? ', 'n');
    await terminal.sees('it stays undecided');
    terminal.type('\x03');
    await terminal.sees('the running turn is being cancelled');
    await terminal.sees('the turn is over: cancelled');
    terminal.type('\x03');
    expect(await terminal.ended).toBe(130);
    expect((await client.session(id).history()).state).toBe('open');
  });

  it('says that there is nothing to summarize, with a worker and without one', async () => {
    const id = newId();
    const away = await startFixture({ agents: [talker()] });
    const at = args(id).map((arg) => (arg === fixture.taskQueue ? away.taskQueue : arg));
    const terminal = typedHere(at, env());
    await terminal.answer(/> $/, saying('one turn'));
    await terminal.sees(/^one turn$/m);
    await until('its end', async () => (await client.session(id).state()).state === 'idle');
    terminal.type('/compact\r');
    await terminal.sees('there is nothing to summarize: a summary takes the place of all turns but the last');
    await Promise.all(away.workers.map((worker) => worker.stop()));
    terminal.type('/compact\r');
    await terminal.sees('compact by ann: there is nothing to summarize');
    terminal.type('/exit\r');
    expect(await terminal.ended).toBe(0);
  });

  it('interrupts, counts, and refuses a command that is none', async () => {
    const terminal = chat(newId());
    terminal.type('/nonsense\r');
    await terminal.sees('there is no command /nonsense');
    await terminal.answer(/> $/, paying('interrupted'));
    await terminal.answer('Your decision [a,e,d,n,v,?]? ', 'n');
    await terminal.answer(/> $/, `/interrupt ${saying('as you wish')}`);
    await terminal.sees(/^as you wish$/m);
    terminal.type('/tools\r');
    await terminal.sees('used so far: pay');
    terminal.type('/cost\r');
    await terminal.sees(/no tokens were counted; \d+ steps?/);
    terminal.type('/close\r');
    await terminal.sees('the session is over: closed');
    expect(await terminal.ended).toBe(0);
    expect(await effects.lines('pay interrupted')).toEqual([]);
  });
});

describe('piped', () => {
  it('prints the answers alone, and goes on by id', async () => {
    const id = newId();
    const [one, two] = [saying('first'), saying('second')];
    expect(await piped(id, `${one}\n\n${two}\n`)).toMatchObject({ code: 0, out: 'first\nsecond\n' });
    expect(await piped(id, saying('third'))).toMatchObject({ code: 0, out: 'third\n' });
  });

  it('prints events with --json', async () => {
    const { code, out } = await piped(newId(), saying('as data'), '--json');
    const events = out
      .trim()
      .split('\n')
      .map((line): { type: string } => JSON.parse(line));
    expect(code).toBe(0);
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['session_started', 'message', 'turn_started', 'turn_event', 'turn_ended']),
    );
  });

  it('says what waits, and ends with 1 where a turn gave no answer', async () => {
    const id = newId();
    const ended = piped(id, paying('nobody'));
    await until('the request', async () => {
      const { turns } = await client
        .session(id)
        .history()
        .catch(() => ({ turns: [] }));
      return turns.length > 0 && (await client.view(`${id}.t1`)).requests.length > 0;
    });
    await client.session(id).cancelTurn();
    const { code, out, err } = await ended;
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(`show ${id}.t1/1.1`);
    expect(err).toContain('gave no answer; the turn is over: cancelled');
  });

  it('refuses a closed session, and one of another agent', async () => {
    const id = newId();
    await piped(id, saying('bye'));
    expect(await runCli(['chat', 'other', '--session', id], { env: env() })).toMatchObject({
      code: 2,
      err: expect.stringContaining('is of the agent talker'),
    });
    await client.session(id).close();
    await until('its end', async () => (await client.session(id).history()).state === 'closed');
    expect(await piped(id, 'hello?')).toMatchObject({
      code: 3,
      err: expect.stringContaining('it is closed'),
    });
  });
});
