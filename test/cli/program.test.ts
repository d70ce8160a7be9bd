import { freePorts } from '../../src/engine/server-args';
import { runCli } from './run-cli';

describe('help', () => {
  it.each([['--help'], ['help'], ['run', '--help'], ['--version']])(
    '%s goes to stdout and ends with 0',
    async (...args) => {
      const { code, out, err } = await runCli(args);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).not.toBe('');
    },
  );

  it('is shown where no command is given, as a mistake', async () => {
    const { code, out } = await runCli([]);
    expect(code).toBe(2);
    expect(out).toContain('Exit codes: 0 done, 1 failed, 2 usage');
  });

  it('names every command', async () => {
    const { out } = await runCli(['--help']);
    for (const name of [
      'dev',
      'worker',
      'run',
      'inbox',
      'watch',
      'review',
      'show',
      'approve',
      'deny',
      'resolve',
      'list',
      'cancel',
      'doctor',
    ])
      expect(out).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  it('has the commands in groups', async () => {
    const { out } = await runCli(['--help']);
    expect(out.match(/^[A-Z][a-z ]+:$/gm)).toEqual([
      'Options:',
      'First steps:',
      'Decide:',
      'Look:',
      'Operate:',
      'Rules:',
    ]);
    expect(out).toMatch(/^Look:\n {2}show /m);
  });

  it('of a command in a group has the flags that the group shares', async () => {
    expect((await runCli(['mcp', 'test', '--help'])).out).toContain('--config <file>');
  });

  it('fits 40 columns', async () => {
    const { out } = await runCli(['approve', '--help'], { env: { COLUMNS: '40' } });
    for (const line of out.split('\n').slice(1)) expect(line.length).toBeLessThanOrEqual(40);
  });
});

describe('mistakes', () => {
  it.each<[string[], number, RegExp]>([
    [['bogus'], 2, /^unknown command 'bogus'/],
    [['aprove', 't/1.1'], 2, /Did you mean approve/],
    [['inbox', '--nope'], 2, /^unknown option '--nope'\nSee `\S.* inbox --help`\.$/m],
    [['audit', 'verify', '--nope'], 2, /^unknown option '--nope'\nSee `\S.* audit verify --help`\.$/m],
    [['audit'], 2, /^no command was given\nSee `\S.* audit --help`\.$/m],
    [['inbox', '--address', 'http://localhost:7233'], 2, /^http:\/\/localhost:7233 is a URL, and not/],
    [['inbox', 'extra'], 2, /too many arguments/],
    [['inbox', '--limit', 'x'], 2, /^--limit x: this is not a whole number/],
    [['inbox', '--older-than', 'long'], 2, /^--older-than long: this is not a time/],
    [['review'], 2, /^there is no terminal to ask at/],
    [['watch'], 2, /^nothing says where to send/],
    [['approve'], 2, /^missing required argument 'turn\/call'/],
    [['approve', 't/1.1', '--edit', '--set', 'a=1'], 2, /^--edit and --args or --set exclude each other/],
    [['approve', 't/1.1', '--patch', '--hunks', '1'], 2, /^--patch and --hunks exclude each other/],
    [['deny', '--all', '--reason', 'x'], 2, /^deny --all needs --tool, --agent or --where/],
    [['run', 'clerk'], 2, /missing required argument 'prompt'/],
    [['run', 'clerk', 'hi', '--wait', 'soon'], 2, /^--wait soon: this is not a time/],
    [['run', 'clerk', 'hi', '--wait', '1s', '--detach'], 2, /^--detach does not wait/],
    [['run', 'clerk', '@no-such-file'], 2, /the file cannot be read/],
    [['show', 'a/b/c'], 2, /names no turn and no call/],
    [
      ['approve', '-x/1.1', '--saw', 'a'],
      2,
      /^unknown option '-x\/1.1'.*\nAn id begins with a letter or a digit/,
    ],
    [
      ['approve', 't/1.1', '--set', 'a.b=1', '--set', 'c=2', '--set', 'a.b=3'],
      2,
      /^--set a.b=1 and --set a.b=3 set the same place/,
    ],
    [['approve', 't/1.1', '--args', '{'], 2, /^--args cannot be taken as it is: this is not JSON/],
    [['approve', 't/1.1', '--args', '[]'], 2, /^--args is JSON but not an object/],
    [['approve', 't/1.1', '--args', '@no-such-file'], 2, /the file cannot be read/],
    [['approve', 't/1.1', '--set', 'amount'], 2, /^--set amount: this is not path=value/],
    [['approve', 't/1.1', '--hunks', 'all'], 2, /^--hunks all: these are not hunk numbers/],
    [['deny', 't/1.1'], 2, /^required option '--reason <text>' not specified/],
    [['resolve', 't/1.1', 'maybe', '--reason', 'x'], 2, /Allowed choices are happened, did-not, run-again/],
    [
      ['resolve', 't/1.1', 'did-not', '--reason', 'x', '--content', 'y'],
      2,
      /^--content goes with happened only/,
    ],
    [['list', '--state', 'odd'], 2, /Allowed choices are running/],
    [['worker', '--approvers', 'a.yaml'], 2, /^--approvers does nothing here: the config names the file/],
    [['dev', '--approvers', 'a.yaml'], 2, /^--approvers does nothing here/],
    [['doctor', '--setup', '--sign-in', 'a.yaml'], 2, /^--sign-in and --setup exclude each other/],
    [['doctor', '--send', '--sign-in', 'a.yaml'], 2, /^--sign-in and --send exclude each other/],
    [['hook', 'codex', '--http', '7300'], 2, /^--http goes with --print/],
    [['mcp', 'gateway', '--print', 'cursor', '--http', '7300'], 2, /^--http and --print exclude each other/],
    [['mcp', 'login', 'far', '--forget', '--scopes', 'read'], 2, /^--scopes and --forget exclude/],
    [['worker', 'gone.ts'], 4, /^the config file gone.ts does not exist/],
    [['dev', 'gone.ts'], 4, /^the config file gone.ts does not exist/],
    [['dev', 'README.md', '--port', '0'], 2, /./],
    [['inbox', '--timeout', 'x'], 2, /^--timeout x: this is not a time/],
    [['show', 'a/b/\x1b[2J'], 2, /\\x1b\[2J/],
  ])('%j', async (args, exit, message) => {
    const { code, out, err } = await runCli(args);
    expect({ code, out }).toEqual({ code: exit, out: '' });
    expect(err).toMatch(message);
    expect(err).toMatch(/\n\[\w+\]\n$/);
    expect(err).not.toMatch(/\n\s+at |\x1b/);
  });

  it.each([
    [['inbox']],
    [['list', '--json']],
    [['show', 't']],
    [['approve', 't/1.1']],
    [['run', 'clerk', 'hi']],
  ])('no server for %j', async (args) => {
    const address = `127.0.0.1:${String(await freePorts(1))}`;
    const { code, out, err } = await runCli([...args, '--address', address, '--timeout', '1']);
    expect({ code, out }).toEqual({ code: 5, out: '' });
    expect(err).toMatch(
      /no Temporal server answers at 127\.0\.0\.1:\d+.*\n.*countersign dev.*\n\[no_server\]\n$/,
    );
  });

  it('shows stacks where they are asked for', async () => {
    const { err } = await runCli(['show', 'a/b/c'], { env: { COUNTERSIGN_DEBUG: '1' } });
    expect(err).toMatch(/\n\s+at /);
  });

  it.each([
    [{ FORCE_COLOR: '1' }, true],
    [{ FORCE_COLOR: '0' }, false],
    [{ NO_COLOR: '1' }, false],
  ])('colours with %j: %s', async (env, colored) => {
    const { err } = await runCli(['show', 'a/b/c'], { env });
    expect(err.includes('\x1b[31m')).toBe(colored);
  });
});
