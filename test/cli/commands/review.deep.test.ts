import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Countersign } from '../../../src/client';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import { defineAgent } from '../../../src/tools/define-agent';
import { TransportError } from '../../../src/tools/errors';
import { startCli, type Ended } from '../process';
import { runCli, typedHere } from '../run-cli';
import { endTyped, typed, type Typed } from '../typed';
import { TAG_SCHEMA, recordTool, useEffects } from '../../support/effects';
import { scratchDirectory, writeScript } from '../../support/scratch';
import { readBack, scriptBook } from '../../support/script-book';
import { testAddress } from '../../support/server';
import { decide, openOf, seenOf, waitFor } from '../../support/turns';
import { sawOf } from '../saw';
import { startFixture, type Fixture, type TurnHandle } from '../../support/fixture';
import { until } from '../../support/until';

const root = scratchDirectory();
const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let starter: Countersign;
/** Each test sees only its own turns. */
let agent: string;
let tests = 0;

/** Far enough apart that each change is a hunk of its own. */
const text = (first: string, last: string): string =>
  [first, ...Array.from({ length: 20 }, (_, n) => `line ${n}`), last, ''].join('\n');
const file = (): string => join(root(), 'notes.txt');

beforeAll(async () => {
  starter = await connect({ address: testAddress() });
});
afterAll(() => starter.close());

beforeEach(async () => {
  writeFileSync(file(), text('first', 'last'));
  agent = `clerk-${process.pid}-${++tests}`;
  const about = { safety: 'dangerous', parameters: TAG_SCHEMA } as const;
  const lose = (): never => {
    throw new TransportError('the line went dead');
  };
  fixture = await startFixture({
    agents: [
      defineAgent({
        name: agent,
        instructions: 'do',
        model: book.model,
        tools: [
          recordTool(effects, { name: 'pay', ...about }),
          recordTool(effects, { name: 'wire', ...about, noBatch: true }),
          recordTool(effects, { name: 'lose', ...about }, lose),
          ...createWorkspaceTools({ root: root() }),
        ],
      }),
    ],
  });
});
afterEach(async () => {
  endTyped();
  await fixture.stop();
});

/** A turn that waits with one call. */
const waiting = async (name: string, args: object): Promise<TurnHandle> => {
  const call = { name, arguments: JSON.parse(JSON.stringify(args)) };
  const prompt = book.add({ text: 'I will do it.', toolCalls: [call] }, readBack);
  const { turn } = await starter.start({ agent, prompt, taskQueue: fixture.taskQueue });
  const handle = fixture.client.workflow.getHandle(turn);
  await waitFor(handle, '1.1');
  // Visibility comes a moment after the turn.
  await until('it in the inbox', async () =>
    (await starter.inbox({ agent })).some((item) => item.turn === turn),
  );
  return handle;
};
const proposal = (): Promise<TurnHandle> =>
  waiting('propose_file_edit', { path: 'notes.txt', new_content: text('FIRST', 'LAST') });

const env = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  TEMPORAL_ADDRESS: testAddress(),
  XDG_STATE_HOME: root(),
  ...more,
});
/** At a terminal in this process. Signals, and what a command does to its terminal, need a real one. */
const cli = (args: string[], more?: NodeJS.ProcessEnv): Typed => typedHere(args, env(more));
const real = (args: string[], more?: NodeJS.ProcessEnv): Typed => typed(args, env(more));
const piped = (args: string[], more?: NodeJS.ProcessEnv): Promise<Ended> => runCli(args, { env: env(more) });

/** An editor that does what each line says, one line a time it is opened; `$1` is the file. */
const editor = (...rounds: string[]): NodeJS.ProcessEnv => {
  const count = join(root(), 'count');
  const cases = rounds.map((round, at) => `${at + 1}) ${round};;`);
  return {
    EDITOR: writeScript(
      join(root(), 'editor'),
      `n=$(($(cat '${count}' 2>/dev/null || echo 0) + 1)); echo $n > '${count}'; cp "$1" '${root()}/seen-'$n`,
      `case $n in ${cases.join(' ')} *) exit 9;; esac`,
    ),
  };
};
const seenBy = (round: number): string => readFileSync(join(root(), `seen-${round}`), 'utf8');

describe('approve --edit', () => {
  it('opens the editor until the arguments fit, shows what changed, asks, and runs the changed call', async () => {
    const handle = await waiting('pay', { tag: 'edit', amount: 10 });
    const rounds = editor(
      `sed -i 's/10/1000000/' "$1"`,
      `sed -i 's/1000000/oops/' "$1"`,
      `sed -i 's/oops/7/' "$1"`,
    );
    const terminal = real(['approve', '-e', `${handle.workflowId}/1.1`, '--as', 'ann'], rounds);
    await terminal.answer('Approve with these changes [y,n,e,?]? ', 'y');
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).not.toContain('1000000');
    expect(terminal.shown()).toMatch(/what changed:\s+amount: 10 → 7/);
    expect(terminal.shown()).toContain('1.1 modified by ann');
    expect(seenBy(1)).not.toContain('does not fit');
    expect(seenBy(2)).toMatch(/^\/\/ This does not fit:\n\/\/ {3}\/amount: .*1000/m);
    expect(seenBy(3)).toMatch(/^\/\/ {3}\(all\): this is not JSON/m);
    expect(await handle.result()).toMatchObject({ counts: { modified: 1 } });
  });

  it.each<[string, string[], string[], RegExp]>([
    ['an empty file', [`: > "$1"`], [], /the file is empty/],
    ['an unchanged file', ['true'], [], /as they were/],
    ['arguments that mean the same', [`printf '{"amount":10,"tag":"x"}' > "$1"`], [], /as they were/],
    ['a no', [`sed -i 's/10/7/' "$1"`], ['n'], /left the changes/],
    ['a second round left as it was', [`sed -i 's/10/oops/' "$1"`, 'true'], [], /as they were/],
  ])('is given up with %s, and decides nothing', async (_name, rounds, answers, why) => {
    const handle = await waiting('pay', { tag: 'x', amount: 10 });
    const terminal = cli(['approve', '--edit', `${handle.workflowId}/1.1`], editor(...rounds));
    for (const answer of answers) await terminal.answer('Approve with these changes', answer);
    expect(await terminal.ended).toBe(1);
    expect(terminal.shown()).toMatch(why);
    expect(terminal.shown()).toContain('[failed]');
    expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });

  it('tells of an editor that fails, and decides nothing', async () => {
    const handle = await waiting('pay', { tag: 'x' });
    const terminal = cli(['approve', '--edit', `${handle.workflowId}/1.1`], editor('kill -9 $$'));
    expect(await terminal.ended).toBe(1);
    expect(terminal.shown()).toMatch(/was ended by SIGKILL[^]*\[failed\]/);
    expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });

  it('works in a script, where nobody is asked', async () => {
    const handle = await waiting('pay', { tag: 'script', amount: 10 });
    const target = `${handle.workflowId}/1.1`;
    const { code, out } = await piped(
      ['approve', '--edit', target, '--json', ...(await sawOf((...args) => piped(args), target))],
      editor(`sed -i 's/10/7/' "$1"`),
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      status: 'accepted',
      verdict: { decision: 'modified' },
    });
  });

  it('wants what deceives the eye confirmed in full', async () => {
    const handle = await waiting('pay', { tag: 'sly\x1b[2J', amount: 10 });
    const terminal = cli(['approve', '--edit', `${handle.workflowId}/1.1`], editor(`sed -i 's/10/7/' "$1"`));
    await terminal.answer('Approve with these changes', 'y');
    await terminal.answer('deceives the eye; each stands there as a mark. Type yes to go on: ', 'y');
    expect(await terminal.ended).toBe(1);
    expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });
});

describe('approve', () => {
  it('prints the request and asks, where it was not printed before', async () => {
    const handle = await waiting('pay', { tag: 'asked', amount: 10 });
    const target = `${handle.workflowId}/1.1`;
    const no = cli(['approve', target]);
    await no.sees(/arguments:\s+tag\s+asked\s+amount\s+10[^]*the model says/);
    await no.answer(`Approve ${target} pay? [y/N] `, '');
    expect(await no.ended).toBe(1);
    expect(await cli(['show', target]).ended).toBe(0);
    const printed = cli(['approve', target, '--as', 'ann']);
    expect(await printed.ended).toBe(0);
    expect(printed.shown()).not.toContain('[y/N]');
    expect(printed.shown()).toMatch(/1\.1 approved by ann\n {2}pay tag=asked amount=10/);
    await handle.result();
    expect(statSync(join(root(), 'countersign', 'printed.txt')).mode & 0o777).toBe(0o600);
  });

  it('asks again where somebody changed the request since it was printed', async () => {
    const handle = await proposal();
    const target = `${handle.workflowId}/1.1`;
    expect(await cli(['show', target]).ended).toBe(0);
    const before = await seenOf(handle);
    const evil = { path: 'notes.txt', new_content: text('first', 'EVIL') };
    await decide(handle, { callId: '1.1', decision: 'modified', arguments: evil, approver: 'bob' });
    await until(
      'the new plan',
      async () => (await openOf(handle))?.items[0]?.seenDigest !== before.seenDigest,
    );
    await waitFor(handle, '1.1');
    const ann = cli(['approve', target, '--reason', 'fine']);
    await ann.sees(/\+EVIL/);
    await ann.answer('[y/N] ', 'n');
    expect(await ann.ended).toBe(1);
    expect(readFileSync(file(), 'utf8')).toBe(text('first', 'last'));
    await decide(handle, { callId: '1.1', decision: 'denied' });
  });

  it('takes what was printed without --json only, and asks about the new preview of a change', async () => {
    const handle = await proposal();
    const target = `${handle.workflowId}/1.1`;
    expect(await cli(['show', target, '--json']).ended).toBe(0);
    const asked = cli(['approve', target]);
    await asked.answer(`Approve ${target} propose_file_edit? [y/N] `, 'n');
    await asked.ended;
    const changed = cli(['approve', target, '--set', 'new_content=NEW']);
    await changed.sees(/with your changes:[^]*\+NEW/);
    await changed.answer('like this? [y/N] ', 'y');
    expect(await changed.ended).toBe(0);
    await handle.result();
    expect(readFileSync(file(), 'utf8')).toBe('NEW');
  });
});

describe('approve --patch', () => {
  it.each<[string, string[], string, string]>([
    ['the first hunk', ['y', 'n', 'y'], 'hunks 1 of 2', text('FIRST', 'last')],
    ['the last hunk', ['n', 's', '?', 'y', 'y'], 'hunks 2 of 2', text('first', 'LAST')],
    ['all', ['a', 'y'], 'all 2 hunks', text('FIRST', 'LAST')],
    ['the first and no more', ['y', 'd', 'y'], 'hunks 1 of 2', text('FIRST', 'last')],
  ])('writes %s', async (_name, answers, confirmed, content) => {
    const handle = await proposal();
    const terminal = cli(['approve', '-p', `${handle.workflowId}/1.1`]);
    for (const answer of answers) await terminal.answer(/\? $|\] $/, answer);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain(`Approve ${confirmed}? [y/N]`);
    await handle.result();
    expect(readFileSync(file(), 'utf8')).toBe(content);
  });

  it('takes none for a denial, and asks why', async () => {
    const handle = await proposal();
    const terminal = cli(['approve', '--patch', `${handle.workflowId}/1.1`]);
    await terminal.answer('(1/2) Approve this hunk [y,n,a,d,s,e,q,?]? ', 'd');
    await terminal.answer('Why? The model reads it: ', 'not these');
    expect(await terminal.ended).toBe(0);
    expect(await handle.result()).toMatchObject({
      counts: { denied: 1 },
      answer: expect.stringContaining('not these'),
    });
    expect(readFileSync(file(), 'utf8')).toBe(text('first', 'last'));
  });

  it('hands the arguments to the editor, and asks about the new preview', async () => {
    const handle = await proposal();
    const terminal = cli(
      ['approve', '--patch', `${handle.workflowId}/1.1`],
      editor(`sed -i 's/LAST/LATEST/' "$1"`),
    );
    await terminal.answer('Approve this hunk', 'e');
    await terminal.answer('See what it does with these changes', 'y');
    await terminal.answer(`Approve ${handle.workflowId}/1.1 propose_file_edit like this? [y/N] `, 'y');
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toMatch(/with your changes:[^]*\+LATEST/);
    await handle.result();
    expect(readFileSync(file(), 'utf8')).toBe(text('FIRST', 'LATEST'));
  });

  it.each([
    ['q', /given up: you left before the last hunk/, 1],
    ['\x03', /nothing was decided/, 130],
  ])('decides nothing with %j', async (key, message, code) => {
    const handle = await proposal();
    const terminal = real(['approve', '--patch', `${handle.workflowId}/1.1`]);
    await terminal.answer('Approve this hunk', 'y');
    await terminal.answer('(2/2) Approve this hunk', key);
    expect(await terminal.ended).toBe(code);
    expect(terminal.shown()).toMatch(message);
    expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });

  it('is for file proposals, and for terminals', async () => {
    const handle = await waiting('pay', { tag: 'x' });
    const asked = cli(['approve', '--patch', `${handle.workflowId}/1.1`]);
    expect(await asked.ended).toBe(2);
    expect(asked.shown()).toContain('proposes no hunks');
    const away = await piped(['approve', '--patch', `${handle.workflowId}/1.1`]);
    expect(away).toMatchObject({ code: 2, err: expect.stringContaining('no terminal to ask at') });
  });
});

describe('review', () => {
  it('goes through requests and doubts one by one, and what is undecided stays', async () => {
    const paid = await waiting('pay', { tag: 'paid', amount: 10 });
    const denied = await waiting('pay', { tag: 'denied' });
    const left = await waiting('pay', { tag: 'left' });
    const terminal = real(['review', '--agent', agent, '--as', 'ann']);
    await terminal.sees(/1 of 3[^]*agent {4}clerk[^]*the model says:\n {2}I will do it\./);
    expect(terminal.shown()).toContain(`request  ${paid.workflowId}/1.1  pay`);
    await terminal.answer('Your decision [a,e,d,n,b,v,q,?]? ', 'a');
    await terminal.answer(`Approve ${paid.workflowId}/1.1 pay as it is? [y/N] `, 'y');
    await terminal.sees('1.1 approved by ann');
    await terminal.answer('Your decision', 'd');
    await terminal.answer('Why not? The model reads it: ', 'too much');
    await terminal.answer('What instead? (Enter: nothing) ', 'Pay 5');
    await terminal.sees('1.1 denied by ann');
    await terminal.answer('Your decision', 'n');
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toMatch(/2 decided; 1 left undecided\.\n$/);
    expect(await paid.result()).toMatchObject({ answer: 'pay did paid' });
    expect(await denied.result()).toMatchObject({ answer: expect.stringContaining('too much') });
    expect(await decide(left, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });

  it('approves nothing by Enter, nor by one key', async () => {
    const handle = await waiting('pay', { tag: 'never' });
    const terminal = cli(['review', '--agent', agent]);
    await terminal.answer('Your decision', '');
    await terminal.answer(/a {2}let it run as it is[^]*Your decision/, 'a');
    await terminal.answer('as it is? [y/N] ', '');
    await terminal.answer(/given up: you did not confirm[^]*Your decision/, 'q');
    expect(await terminal.ended).toBe(0);
    expect(await effects.lines('never')).toEqual([]);
    expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });

  it('wants what deceives the eye confirmed in full', async () => {
    const handle = await waiting('pay', { tag: 'p\u0430ypal' });
    const terminal = cli(['review', '--agent', agent]);
    await terminal.sees('p⟦а Cyrillic⟧ypal');
    await terminal.answer('Your decision', 'a');
    await terminal.answer('as it is? [y/N] ', 'y');
    await terminal.answer('deceives the eye; each stands there as a mark. Type yes to go on: ', 'y');
    await terminal.answer(/you did not confirm[^]*Your decision/, 'a');
    await terminal.answer('as it is? [y/N] ', 'y');
    await terminal.answer('Type yes to go on: ', 'yes');
    await terminal.sees('1.1 approved by');
    expect(await terminal.ended).toBe(0);
    expect(await handle.result()).toMatchObject({ status: 'answered' });
  });

  it('resolves a call in doubt', async () => {
    const handle = await waiting('lose', { tag: 'lost' });
    await decide(handle, { callId: '1.1', decision: 'approved' });
    await waitFor(handle, '1.1', 'in_doubt');
    const terminal = cli(['review', '--agent', agent]);
    await terminal.answer('How it ended [h,x,r,n,b,v,q,?]? ', 'h');
    await terminal.answer('How do you know? The model reads it: ', 'the bank says so');
    await terminal.answer('What did it return? (Enter: nobody knows) ', 'paid after all');
    await terminal.answer('Go on as if it happened, once? [y/N] ', 'y');
    expect(await terminal.ended).toBe(0);
    expect(await handle.result()).toMatchObject({ answer: expect.stringContaining('paid after all') });
  });

  it('takes up what comes in, and tells what somebody else decided', async () => {
    const first = await waiting('pay', { tag: 'first' });
    const terminal = cli(['review', '--agent', agent]);
    await terminal.sees('1 of 1');
    const second = await waiting('pay', { tag: 'second' });
    await decide(first, { callId: '1.1', decision: 'denied', approver: 'bob' });
    await terminal.answer('Your decision', 'a');
    await terminal.answer('as it is? [y/N] ', 'y');
    await terminal.answer(/already_decided[^]*denied by bob[^]*Your decision|already_decided/, 'n');
    await terminal.sees(`${second.workflowId}/1.1`);
    await terminal.answer(/1 of 1[^]*Your decision|Your decision/, 'q');
    expect(await terminal.ended).toBe(0);
    await decide(second, { callId: '1.1', decision: 'denied' });
  });

  it('leaves by Ctrl-C with the terminal as it was and nothing decided', async () => {
    const handle = await waiting('pay', { tag: 'left' });
    const terminal = real(['review', '--agent', agent]);
    await terminal.sees('Your decision');
    terminal.type('\x03');
    expect(await terminal.ended).toBe(130);
    expect(terminal.shown()).toContain('nothing was decided');
    expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });

  it('says when nothing waits, and needs a terminal', async () => {
    const terminal = cli(['review', '--agent', agent]);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain('Nothing waits for a person.');
    expect(await piped(['review'])).toMatchObject({ code: 2, err: expect.stringContaining('no terminal') });
  });
});

describe('inbox', () => {
  it('filters by age', async () => {
    const handle = await waiting('pay', { tag: 'young' });
    const count = async (age: string): Promise<number> =>
      JSON.parse((await piped(['inbox', '--json', '--agent', agent, '--older-than', age])).out).length;
    expect(await count('0s')).toBe(1);
    expect(await count('1h')).toBe(0);
    await decide(handle, { callId: '1.1', decision: 'denied' });
  });

  it('shows each change on a terminal, until Ctrl-C', async () => {
    const terminal = real(['inbox', '--watch', '--agent', agent]);
    const handle = await waiting('pay', { tag: 'shown' });
    await terminal.sees(/new +\S+ +request +pay tag=shown/);
    await decide(handle, { callId: '1.1', decision: 'denied' });
    await terminal.sees(/gone +\S+ +request +pay tag=shown/);
    terminal.type('\x03');
    expect(await terminal.ended).toBe(0);
  });

  it('tells each change as a line of JSON', async () => {
    const first = await waiting('pay', { tag: 'one' });
    const watching = startCli(['inbox', '--watch', '--json', '--agent', agent], { env: env() });
    const changes = (): [string, string][] =>
      watching
        .out()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
        .map(({ change, item }) => [change, item.turn]);
    await until('the first', () => changes().length === 1);
    await decide(first, { callId: '1.1', decision: 'denied' });
    await until('its end', () => changes().length === 2);
    watching.signal('SIGINT');
    expect(await watching.ended).toMatchObject({ code: 0 });
    expect(changes()).toEqual([
      ['new', first.workflowId],
      ['gone', first.workflowId],
    ]);
  });
});

describe('many at once', () => {
  it('decides what the condition chose, after one question, and leaves the rest', async () => {
    const small = [
      await waiting('pay', { tag: 'a', amount: 5 }),
      await waiting('pay', { tag: 'b', amount: 7 }),
    ];
    const big = await waiting('pay', { tag: 'c', amount: 500 });
    const sly = await waiting('pay', { tag: 'd\u202e', amount: 1 });
    const terminal = cli([
      'approve',
      '--all',
      '--tool',
      'pay',
      '--agent',
      agent,
      '--where',
      'args.amount<50',
    ]);
    await terminal.answer('Approve these 2? [y/N] ', 'y');
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain(
      `left out: ${sly.workflowId}/1.1: it holds characters that deceive the eye`,
    );
    for (const handle of small) expect(await handle.result()).toMatchObject({ status: 'answered' });
    for (const handle of [big, sly]) {
      expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
    }
  });

  it('decides nothing without a yes', async () => {
    const handle = await waiting('pay', { tag: 'a' });
    const all = ['approve', '--all', '--tool', 'pay', '--agent', agent];
    const asked = cli(all);
    await asked.answer('Approve this one? [y/N] ', '');
    expect(await asked.ended).toBe(1);
    expect(await piped(all)).toMatchObject({ code: 2, err: expect.stringContaining('Say --yes') });
    expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });

  it('is for scripts, with --yes and --json; never for a tool that is marked noBatch', async () => {
    const handle = await waiting('pay', { tag: 'script' });
    const wired = await waiting('wire', { tag: 'wired' });
    const all = (tool: string) =>
      piped(['approve', '--all', '--tool', tool, '--agent', agent, '--yes', '--json']);
    const { code, out } = await all('pay');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject([
      { turn: handle.workflowId, callId: '1.1', answer: { status: 'accepted' } },
    ]);
    expect(await all('wire')).toMatchObject({
      code: 0,
      out: '[]\n',
      err: expect.stringContaining('decided on its own'),
    });
    const denied = await piped([
      'deny',
      '--all',
      '--tool',
      'wire',
      '--agent',
      agent,
      '--yes',
      '--reason',
      'no wires',
    ]);
    expect(denied).toMatchObject({ code: 0, out: expect.stringContaining('0 of 1 waiting fit') });
    expect(await decide(wired, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });

  it('decides what was listed only: what changed before the yes is refused', async () => {
    const handle = await waiting('propose_file_edit', {
      path: 'notes.txt',
      new_content: text('ONE', 'last'),
    });
    const terminal = cli(['approve', '--all', '--tool', 'propose_file_edit', '--agent', agent]);
    await terminal.sees('Approve this one? [y/N]');
    const seen = await seenOf(handle);
    const evil = { path: 'notes.txt', new_content: text('EVIL', 'last') };
    await decide(handle, { callId: '1.1', decision: 'modified', arguments: evil, approver: 'bob' });
    await until('the new plan', async () => {
      const now = (await openOf(handle))?.items[0]?.seenDigest;
      return now !== undefined && now !== seen.seenDigest;
    });
    await terminal.answer('Approve this one? [y/N]', 'y');
    expect(await terminal.ended).toBe(3);
    expect(terminal.shown()).toContain('stale_args');
    expect(readFileSync(file(), 'utf8')).toBe(text('first', 'last'));
    await decide(handle, { callId: '1.1', decision: 'denied' });
  });

  it('never takes a call with several hunks', async () => {
    const handle = await proposal();
    const { out } = await piped([
      'approve',
      '--all',
      '--tool',
      'propose_file_edit',
      '--agent',
      agent,
      '--yes',
    ]);
    expect(out).toContain('it has 2 hunks to choose from');
    expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ accepted: true });
  });

  it.each([
    [['--all'], /approve --all needs --tool/],
    [['--all', 't/1.1', '--tool', 'pay'], /--all and a call exclude/],
    [['--all', '--tool', 'pay', '--edit'], /--edit and --all exclude/],
    [['--all', '--tool', 'pay', '--where', 'amount <'], /--where cannot be read/],
    [['t/1.1', '--where', 'true'], /--where goes with --all/],
    [[], /missing required argument/],
  ])('tells of a mistake in %j', async (args, message) => {
    expect(await piped(['approve', ...args])).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  });
});
