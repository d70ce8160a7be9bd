import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/contract/json';
import type { ToolResult } from '../../src/contract/result';
import { createExecutor, runJob, type RunJob } from '../../src/tools/executor';
import { createRegistry } from '../../src/tools/registry';
import type { Policy, Tool } from '../../src/tools/types';
import { makeContext } from '../../src/tools/context';
import { createShellTools, type ShellOptions } from '../../src/tools/shell-tools';
import { sandbox, type SandboxOptions } from '../../src/tools/sandbox';
import { HIDING_COMMANDS } from '../support/hiding-commands';
import { scratchDirectory } from '../support/scratch';
import { describeWithBubblewrap, giveAway } from '../support/sandbox';

const root = scratchDirectory();

function registryOf(options: Partial<ShellOptions> = {}) {
  return createRegistry(createShellTools({ root: root(), ...options }));
}

interface How extends Partial<ShellOptions> {
  cwd?: string;
  signal?: AbortSignal;
}

async function run(argv: string[], { cwd, signal, ...options }: How = {}): Promise<ToolResult> {
  const args: JsonObject = { argv, ...(cwd === undefined ? {} : { cwd }) };
  const executor = createExecutor({ registry: registryOf(options) });
  const approve = () => ({ decision: 'approved' as const });
  return executor.execute(
    { name: 'run_command', arguments: args },
    { approve, ...(signal === undefined ? {} : { signal }) },
  );
}

function jobOf(tool: Tool | undefined, argv: string[]): RunJob {
  if (tool === undefined) throw new Error('there is no run_command');
  const parsed = tool.parse({ argv });
  if (!parsed.ok) throw new Error('the arguments do not fit');
  return {
    tool,
    value: parsed.value,
    call: { callId: '1.1', id: 'a', arguments: { argv } },
    approved: true,
    attempt: 1,
    idempotencyKey: 'key',
  };
}

const shell = (script: string, how: How = {}): Promise<ToolResult> => run(['sh', '-c', script], how);

/** What the approver of a command without a sandbox reads. */
const BARE = 'WITHOUT a sandbox: it reaches whatever this worker can';

/** Waits for a condition; the test's own timeout ends it. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(10);
}

/** Whether a process runs; one that has ended and waits for its parent does not. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

const pidIn = (name: string): number => Number(readFileSync(join(root(), name), 'utf8'));
const isWritten = (name: string) => () => existsSync(join(root(), name)) && pidIn(name) > 0;

it('is dangerous and unsafe, and denied without an approval', async () => {
  const registry = registryOf();
  expect(registry.get('run_command')).toMatchObject({ safety: 'dangerous', effect: 'unsafe' });
  const call = { name: 'run_command', arguments: { argv: ['touch', 'made'] } };
  expect(await createExecutor({ registry }).execute(call)).toMatchObject({ error: { code: 'denied' } });
  expect(existsSync(join(root(), 'made'))).toBe(false);
});

describe('the digest', () => {
  const digestOf = (options: Partial<ShellOptions> = {}): string | undefined =>
    createShellTools({ root: '/elsewhere/a', ...options })[0]?.digest;
  const boxed = (options: SandboxOptions = {}): Partial<ShellOptions> => ({
    sandbox: sandbox({ write: ['/elsewhere'], ...options }),
  });

  it.each<[string, Partial<ShellOptions>, Partial<ShellOptions>]>([
    ['nothing else', {}, {}],
    ['the same folder, written otherwise', {}, { root: '/elsewhere/b/../a/' }],
    ['the same sandbox', boxed(), boxed()],
    ['the same variables in another order', { env: ['A', 'B'] }, { env: ['B', 'A'] }],
    ['another time and other output', {}, { timeout: '1 minute', outputLimit: 1024 }],
  ])('is the same with %s', (_case, one, other) => {
    expect(digestOf(one)).toBe(digestOf(other));
  });

  it.each<[string, Partial<ShellOptions>, Partial<ShellOptions>]>([
    ['another root', {}, { root: '/elsewhere/b' }],
    ['no sandbox', boxed(), {}],
    ['another folder to write', boxed(), boxed({ write: ['/elsewhere', '/data'] })],
    [
      'a folder to write instead of to read',
      boxed({ read: ['/data'] }),
      boxed({ write: ['/elsewhere', '/data'] }),
    ],
    ['a network', boxed(), boxed({ network: { hosts: ['example.com'] } })],
    [
      'a private host',
      boxed({ network: { hosts: ['example.com'] } }),
      boxed({ network: { hosts: ['example.com'], privateHosts: ['example.com'] } }),
    ],
    ['another limit', boxed(), boxed({ limits: { processes: 7 } })],
    ['a limit that need not hold', boxed(), boxed({ allowUnlimited: ['tmp'] })],
    ['one more variable', { env: ['A'] }, { env: ['A', 'B'] }],
  ])('is another with %s', (_case, one, other) => {
    expect(digestOf(one)).not.toBe(digestOf(other));
  });

  /** The digest with a variable of the worker set. */
  const digestWith = (name: string, value: string | undefined, make: () => Partial<ShellOptions>) => {
    const before = process.env[name];
    const set = (to: string | undefined): void => {
      if (to === undefined) delete process.env[name];
      else process.env[name] = to;
    };
    set(value);
    try {
      return digestOf(make());
    } finally {
      set(before);
    }
  };

  it('is another with another value of a variable, and with none', () => {
    const digests = ['staging', 'production', '', undefined].map((value) =>
      digestWith('AWS_PROFILE', value, () => ({ env: ['AWS_PROFILE'] })),
    );
    expect(new Set(digests).size).toBe(digests.length);
  });

  it('is the same in another terminal', () => {
    expect(digestWith('TERM', 'one', () => ({}))).toBe(digestWith('TERM', 'another', () => ({})));
  });

  it('is another on a machine that has no sandbox, if one may be left out', () => {
    const digestOn = (path: string, options: SandboxOptions) =>
      digestWith('PATH', path, () => boxed(options));
    writeFileSync(join(root(), 'bwrap'), '', { mode: 0o755 });
    expect(digestOn('/nowhere', { unsandboxed: true })).not.toBe(digestOn(root(), { unsandboxed: true }));
    expect(digestOn('/nowhere', {})).toBe(digestOn(root(), {}));
  });
});

it('shows that a command runs without a sandbox, also where the machine has none', async () => {
  const { signal } = new AbortController();
  const context = makeContext({ callId: '1.1', tool: 'run_command' }, {}, { signal });
  const shownBy = async (options: Partial<ShellOptions>): Promise<string | undefined> =>
    (
      await registryOf(options)
        .get('run_command')
        ?.preview?.({ argv: ['ls'], cwd: '.' }, context)
    )?.text;
  expect(await shownBy({})).toBe(`ls\nin .\n${BARE}`);
  const path = process.env['PATH'];
  process.env['PATH'] = '/nowhere';
  try {
    const box = sandbox({ write: [root()], unsandboxed: true });
    expect(await shownBy({ sandbox: box })).toMatch(/^ls\nin \.\nWITHOUT a sandbox/);
  } finally {
    process.env['PATH'] = path;
  }
});

describe('a command that hides another one', () => {
  /** As an agent has it that takes every command for allowed. */
  const POLICIES: readonly (Policy | undefined)[] = [
    undefined,
    () => 'run',
    async () => ({ decision: 'run' }),
  ];

  it.each(HIDING_COMMANDS)('%s: %j waits for a person and does not run without one', async (_kind, argv) => {
    for (const policy of POLICIES) {
      const asked: JsonObject[] = [];
      const executor = createExecutor({
        registry: registryOf(),
        ...(policy === undefined ? {} : { policy }),
      });
      const call = { name: 'run_command', arguments: { argv } };
      const approve = (_tool: Tool, args: JsonObject) => {
        asked.push(args);
        return { decision: 'denied' as const };
      };
      expect(await executor.execute(call, { approve })).toMatchObject({ error: { code: 'denied' } });
      expect(asked).toMatchObject([{ argv }]);
    }
    expect(readdirSync(root())).toEqual([]);
  });

  it.each(HIDING_COMMANDS)('%s: %j is shown with every word, on one line', async (_kind, argv) => {
    const { signal } = new AbortController();
    const context = makeContext({ callId: '1.1', tool: 'run_command' }, {}, { signal });
    const shown = await registryOf().get('run_command')?.preview?.({ argv, cwd: '.' }, context);
    const [line = '', ...rest] = shown?.text.split('\n') ?? [];
    expect(rest).toEqual(['in .', BARE]);
    const env = { ...process.env, LC_ALL: 'C.UTF-8' };
    const words = execFileSync('bash', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8', env });
    expect(words.split('\0').slice(0, -1)).toEqual(argv);
    expect(readdirSync(root())).toEqual([]);
  });

  const isEverywhere = ([program = '', option = '', ...rest]: readonly string[]): boolean =>
    ['awk', 'sh'].includes(program) || `${program} ${option}` === 'env -S' || rest.includes('-exec');

  // Without this the files that are not made above would prove nothing.
  it.each(HIDING_COMMANDS.filter(([, argv]) => isEverywhere(argv)))(
    '%s: %j is what runs once a person allows it',
    async (_kind, argv) => {
      await run(argv);
      expect(readdirSync(root())).toContain('made');
    },
  );
});

describe('the words', () => {
  it('are given as they are, nothing is expanded', async () => {
    const words = [
      '$HOME',
      '*',
      '~',
      ';',
      '&&',
      '| cat',
      '$(id)',
      '`id`',
      '> out',
      '',
      "a'b",
      'a\nb',
      '{a,b}',
      '<(id)',
    ];
    const { content } = await run(['printf', '%s|', ...words]);
    expect(content).toBe(words.map((word) => `${word}|`).join(''));
    expect(existsSync(join(root(), 'out'))).toBe(false);
  });

  it.each<[string, string[], RegExp]>([
    ['a NUL byte', ['echo', 'a\0b'], /NUL byte/],
    ['no program', [''], /it is empty/],
    ['a blank program', [' \t'], /it is empty/],
    ['a program that is not there', ['no-such-program'], /no program "no-such-program"/],
    ['a built-in of a shell', ['export', 'A=b'], /no program "export"/],
    ['a whole line', ['echo a; touch made'], /no program/],
    ['a file that may not be executed', ['./plain'], /may not be executed/],
    ['a path through a file', ['./plain/x'], /could not be started: ENOTDIR/],
  ])('%s is refused and nothing runs', async (...[, argv, message]) => {
    writeFileSync(join(root(), 'plain'), 'x');
    const result = await run(argv);
    expect(result).toMatchObject({ success: false, error: { code: 'tool' } });
    expect(result.content).toMatch(message);
    expect(existsSync(join(root(), 'made'))).toBe(false);
  });

  it('half a character does not fit, and nothing runs', async () => {
    const result = await run(['touch', 'made\ud800']);
    expect(result).toMatchObject({ success: false, error: { code: 'validation' } });
    expect(result.content).toMatch(/\/argv\/1: .*half a character/);
    expect(existsSync(join(root(), 'made\ufffd'))).toBe(false);
  });

  it.each<JsonObject>([{ argv: [] }, { argv: 'ls' }, { argv: ['ls'], shell: true }, {}])(
    '%j does not fit',
    async (args) => {
      const result = await createExecutor({ registry: registryOf() }).execute(
        { name: 'run_command', arguments: args },
        { approve: () => ({ decision: 'approved' }) },
      );
      expect(result).toMatchObject({ error: { code: 'validation' } });
    },
  );

  it('are shown as one line, and the folder on another', async () => {
    const tool = registryOf().get('run_command');
    mkdirSync(join(root(), 'sub'));
    const { signal } = new AbortController();
    const context = makeContext({ callId: '1.1', tool: 'run_command' }, {}, { signal });
    const shown = await tool?.preview?.({ argv: ['rm', '-rf', 'a b', 'x\ny'], cwd: './sub/' }, context);
    expect(shown).toEqual({ text: `rm -rf 'a b' $'x\\ny'\nin sub\n${BARE}` });
  });
});

describe('a command that runs a file of the workspace', () => {
  const put = (name: string, text: string): void => {
    writeFileSync(join(root(), name), text, { mode: 0o755 });
  };
  const SCRIPT = '#!/bin/sh\necho as shown\n';
  beforeEach(() => {
    mkdirSync(join(root(), 'sub'));
    put('deploy.sh', SCRIPT);
    put('sub/hook.sh', 'x=1\n');
    put('app.log', 'one line\n');
    symlinkSync('deploy.sh', join(root(), 'link'));
  });

  const APPROVAL = { decision: 'approved', approver: 'ann' } as const;
  const prepared = async (argv: string[], cwd = '.') => {
    const tool = registryOf().get('run_command');
    const { signal } = new AbortController();
    const facts = { callId: '1.1', tool: 'run_command' };
    const shown = await tool?.preview?.({ argv, cwd }, makeContext(facts, {}, { signal }));
    const about = { ...facts, ...(shown?.plan === undefined ? {} : { plan: shown.plan }) };
    const start = (approval?: typeof APPROVAL) =>
      tool?.handle({ argv, cwd }, makeContext({ ...about, ...(approval && { approval }) }, {}, { signal }));
    return { shown, start };
  };

  it.each<[string, string[], string, string[]]>([
    ['the program', ['./deploy.sh', '--prod'], '.', ['deploy.sh']],
    ['the program, by its whole path', ['ROOT/deploy.sh'], '.', ['deploy.sh']],
    ['the program, from another folder', ['../deploy.sh'], 'sub', ['deploy.sh']],
    ['what a link leads to', ['./link'], '.', ['deploy.sh']],
    ['the first file of an interpreter', ['sh', 'deploy.sh', 'app.log'], '.', ['deploy.sh']],
    [
      'the file of an option too',
      ['bash', '--rcfile', 'sub/hook.sh', 'deploy.sh'],
      '.',
      ['sub/hook.sh', 'deploy.sh'],
    ],
    ['the file behind other words', ['env', 'A=1', 'timeout', '5', './deploy.sh'], '.', ['deploy.sh']],
    ['the program and what it is given', ['./deploy.sh', 'app.log'], '.', ['deploy.sh', 'app.log']],
    ['no program of PATH, a folder or a word', ['deploy.sh', 'sub', 'prod', ''], '.', []],
    ['nothing outside the workspace', ['/bin/sh', '/etc/passwd'], '.', []],
    ['nothing that is only read', ['tail', '-n', '5', 'app.log'], '.', []],
    ['what a reader runs', ['rg', '--pre', './deploy.sh', 'x'], '.', ['deploy.sh']],
    ['the program of a reader', ['jq', '-f', 'sub/hook.sh', 'app.log'], '.', ['sub/hook.sh', 'app.log']],
    ['the value of an option', ['git', '--x=1', '-c', 'core.pager=./deploy.sh', 'log'], '.', ['deploy.sh']],
    ['a value behind a mark', ['git', '-c', 'alias.x=!./deploy.sh', 'x'], '.', ['deploy.sh']],
    ['a value behind its letter', ['node', '-r./deploy.sh', '-e', '1'], '.', ['deploy.sh']],
    ['a variable', ['env', 'LD_PRELOAD=sub/hook.sh', 'cat'], '.', ['sub/hook.sh']],
  ])('binds %s', async (_case, words, cwd, files) => {
    const argv = words.map((word) => word.replace('ROOT', root()));
    const { shown } = await prepared(argv, cwd);
    const named = [...(shown?.text ?? '').matchAll(/^with (.+) \(\d+ bytes, SHA-256 [0-9a-f]{64}\)$/gm)];
    expect(named.map(([, name]) => name)).toEqual(files);
    expect(shown?.plan === undefined).toBe(files.length === 0);
  });

  it('binds a program that PATH finds in the workspace, also if it has the name of a reader', async () => {
    const path = process.env['PATH'];
    put('sub/tail', SCRIPT);
    process.env['PATH'] = `${root()}/none:${root()}/sub:${path}`;
    try {
      const { shown } = await prepared(['tail', 'app.log']);
      expect(shown?.text).toMatch(/^with sub\/tail .*\nwith app\.log /m);
    } finally {
      process.env['PATH'] = path;
    }
  });

  it('runs if the file is as it was shown', async () => {
    const { start } = await prepared(['./deploy.sh']);
    expect(await start(APPROVAL)).toBe('as shown\n');
  });

  it.each<[string, string[], () => void]>([
    ['changed', ['./deploy.sh'], () => put('deploy.sh', 'touch made\n')],
    [
      'changed, as the file of an interpreter',
      ['sh', '-x', 'deploy.sh'],
      () => put('deploy.sh', 'touch made\n'),
    ],
    ['gone', ['./deploy.sh'], () => rmSync(join(root(), 'deploy.sh'))],
    ['new', ['sh', 'later.sh'], () => put('later.sh', 'touch made\n')],
    [
      'another one',
      ['./link'],
      () => {
        put('other.sh', SCRIPT);
        rmSync(join(root(), 'link'));
        symlinkSync('other.sh', join(root(), 'link'));
      },
    ],
  ])('does not run if the file is %s', async (_case, argv, change) => {
    const { start } = await prepared(argv);
    change();
    await expect(start(APPROVAL)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^Conflict: .* since this was prepared\. This attempt ran nothing\./),
    });
    expect(existsSync(join(root(), 'made'))).toBe(false);
  });

  it('runs a file that nobody was shown if nobody was asked', async () => {
    const tool = registryOf().get('run_command');
    const { signal } = new AbortController();
    const context = makeContext({ callId: '1.1', tool: 'run_command' }, {}, { signal });
    expect(await tool?.handle({ argv: ['./deploy.sh'], cwd: '.' }, context)).toBe('as shown\n');
  });
});

describe('what a command is given', () => {
  const MARK = /^COUNTERSIGN_COMMAND_[0-9a-f]{32}=1$/;
  const hidden = {
    COUNTERSIGN_TEST_SECRET: 'hunter2',
    NODE_OPTIONS: '--no-warnings',
    AWS_SECRET_ACCESS_KEY: 'x',
  };
  const before = { ...process.env };
  beforeEach(() => Object.assign(process.env, hidden));
  afterEach(() => {
    for (const name of Object.keys(hidden)) delete process.env[name];
    Object.assign(process.env, before);
  });

  it('sees only the variables that are allowed', async () => {
    const { content } = await run(['env']);
    const names = content
      .trim()
      .split('\n')
      .filter((line) => !MARK.test(line))
      .map((line) => line.split('=')[0]);
    expect(names).toContain('PATH');
    expect(['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER']).toEqual(
      expect.arrayContaining(names),
    );
    expect(content).not.toContain('hunter2');
  });

  it('is marked by a variable of its own, beside those of the commands that started the worker', async () => {
    const outer = `COUNTERSIGN_COMMAND_${'0'.repeat(32)}`;
    process.env[outer] = '1';
    try {
      const marks = async () => {
        const { content } = await run(['env']);
        return content.split('\n').filter((line) => MARK.test(line));
      };
      const [first, second] = [await marks(), await marks()];
      expect([first.length, second.length]).toEqual([2, 2]);
      expect(first.filter((line) => second.includes(line))).toEqual([`${outer}=1`]);
    } finally {
      delete process.env[outer];
    }
  });

  it('sees those that the pack names instead', async () => {
    process.env['MY_SETTING'] = 'on';
    const { content } = await run(['/usr/bin/env'], { env: ['MY_SETTING', 'NOT_SET'] });
    expect(content.split('\n').filter((line) => !MARK.test(line))).toEqual(['MY_SETTING=on', '']);
    delete process.env['MY_SETTING'];
  });

  it.each(['NODE_OPTIONS', 'LD_PRELOAD', 'TEMPORAL_API_KEY', 'BASH_ENV'])('never sees %s', (name) => {
    expect(() => createShellTools({ root: root(), env: ['PATH', name] })).toThrow(name);
  });

  it('has an empty input, and the folder is not handed to it', async () => {
    expect(await run(['cat'])).toMatchObject({ success: true, content: '(no output; exit code 0)' });
    // The folder is held open while the command runs; only its own process may see that.
    const { content } = await shell('ls -l /proc/$$/fd; :');
    expect(content).toContain('/dev/null');
    expect(content).not.toContain(root());
  });
});

describe('the folder', () => {
  beforeEach(() => {
    mkdirSync(join(root(), 'sub'));
    symlinkSync('/', join(root(), 'out'));
    writeFileSync(join(root(), 'plain'), 'x');
  });

  it.each([
    [undefined, ''],
    ['sub', '/sub'],
    ['./sub//', '/sub'],
  ])('%s is where it runs', async (cwd, below) => {
    const how = cwd === undefined ? {} : { cwd };
    expect(await run(['pwd', '-P'], how)).toMatchObject({ content: `${root()}${below}\n` });
  });

  it.each(['..', '/', '/tmp', 'sub/../..', 'out', 'out/tmp', 'plain', 'missing', 'a\0b'])(
    '%j is refused and nothing runs',
    async (cwd) => {
      const result = await run(['touch', join(root(), 'made')], { cwd });
      expect(result).toMatchObject({ success: false, error: { code: 'tool' } });
      expect(existsSync(join(root(), 'made'))).toBe(false);
    },
  );

  it('may be moved away by the command itself', async () => {
    const script = 'mv ../sub ../other && mkdir ../sub && echo moved';
    expect(await shell(script, { cwd: 'sub' })).toMatchObject({ success: true, content: 'moved\n' });
  });
});

describe('how it ends', () => {
  it.each([
    [0, 'echo out; echo err >&2', true, 'out\nerr\n'],
    [3, 'echo out; exit 3', false, /ended with exit code 3\.[^]*out\n$/],
    [1, 'exit 1', false, /ended with exit code 1\. It wrote nothing\./],
    [null, 'echo last; kill -9 $$', false, /was ended by SIGKILL[^]*last\n$/],
  ])('%s: %s', async (...[code, script, success, said]) => {
    const result = await shell(script);
    expect(result.success).toBe(success);
    expect(result.content).toEqual(typeof said === 'string' ? said : expect.stringMatching(said));
    if (!success) expect(result.error?.details).toMatchObject({ exit_code: code });
  });

  it('tells all that a failed command wrote, within the limit', async () => {
    const { content } = await shell('seq 1 3000; exit 3');
    expect(content).toContain('\n1500\n');
  });

  it('keeps head and tail of a flood', async () => {
    const { content } = await run(['seq', '1', '100000'], { outputLimit: 2000 });
    expect(Buffer.byteLength(content)).toBeLessThanOrEqual(2000);
    expect(content).toMatch(/^1\n2\n3\n[^]*\n\[\.\.\. \d+ bytes left out \.\.\.\]\n[^]*99999\n100000\n$/);
  });

  it('puts characters together that came in pieces', async () => {
    const { content } = await shell("printf '\\342\\202'; sleep 0.05; printf '\\254'");
    expect(content).toBe('€');
  });
});

describe('a command that does not end', () => {
  const FAR = 'setsid sh -c "echo \\$\\$ > far; exec sleep 300"';
  const STUBBORN = 'trap "" TERM; echo $$ > leader; (trap "" TERM; sleep 300 & echo $! > child; wait) & ';

  it('is killed at its timeout with all it started, even where they ignore being asked', async () => {
    const result = await shell(`${STUBBORN} echo started; sleep 300`, { timeout: 1000 });
    expect(result).toMatchObject({ success: false, error: { code: 'timeout' } });
    expect(result.content).toContain('started');
    await until(() => !isAlive(pidIn('leader')) && !isAlive(pidIn('child')));
  });

  it('is killed when it is cancelled', async () => {
    const abort = new AbortController();
    const running = shell(`${STUBBORN} sleep 300`, { signal: abort.signal });
    await until(isWritten('child'));
    abort.abort();
    expect(await running).toMatchObject({ error: { code: 'cancelled' } });
    await until(() => !isAlive(pidIn('leader')) && !isAlive(pidIn('child')));
  });

  it('may end by itself when it is asked to, and the model hears of it', async () => {
    const abort = new AbortController();
    const script = 'trap "echo bye; exit 7" TERM; echo $$ > leader; while :; do sleep 0.05; done';
    const running = shell(script, { signal: abort.signal });
    await until(isWritten('leader'));
    abort.abort();
    const { content, success } = await running;
    expect(success).toBe(false);
    expect(content).toMatch(/ended with exit code 7[^]*Partial output:\n[^]*bye/);
  });

  it('proves that it was stopped; what made a session of its own is killed too', async () => {
    const script = 'setsid sh -c "echo \\$\\$ > far; exec sleep 300" & echo started; sleep 300';
    const tool = registryOf({ timeout: 1000 }).get('run_command');
    const outcome = await runJob(jobOf(tool, ['sh', '-c', script]), {});
    expect(outcome).toMatchObject({ outcomeKnown: true, result: { error: { code: 'timeout' } } });
    expect(outcome.result.content).toMatch(/it was stopped[^]*was ended by SIG\w+[^]*started/);
    expect(isAlive(pidIn('far'))).toBe(false);
  });

  it.each([
    ['in its group', 'sleep 300 & echo $! > far; echo done'],
    ['in a group of its own', 'exec 2>/dev/null; set -m; sleep 300 & echo $! > far; echo done'],
    ['without its mark', 'env -i /bin/sleep 300 & echo $! > far; echo done'],
    ['in a session of its own', `${FAR} & until [ -s far ]; do sleep 0.01; done; echo done`],
    [
      'that ignores to be asked',
      `trap "" TERM HUP; ${FAR} & until [ -s far ]; do sleep 0.01; done; echo done`,
    ],
    ['without its output', `${FAR} >/dev/null 2>&1 & until [ -s far ]; do sleep 0.01; done; echo done`],
  ])('takes what it left behind %s with it when it ends, and says so', async (_, script) => {
    const { success, content } = await shell(script);
    expect(isAlive(pidIn('far'))).toBe(false);
    expect({ success, content }).toEqual({
      success: true,
      content: 'done\n\n[1 process that it left behind was killed]',
    });
  });

  it('takes a whole tree with it that keeps forking', async () => {
    // A number of its own: other tests of the machine sleep too.
    const nap = `sleep 300.${process.pid}`;
    const fork = `i=0; while [ $i -lt 60 ]; do i=$((i+1)); setsid ${nap} & done; echo done`;
    expect((await shell(`setsid sh -c '${fork}' & sleep 0.2; echo done`)).content).toMatch(
      /\d+ processes that it left behind were killed/,
    );
    expect(await shell(`pgrep -fc "^${nap}$"`)).toMatchObject({
      content: expect.stringMatching(/exit code 1/),
    });
  });

  it('is in doubt where something survives that cannot be found but holds its output', async () => {
    const script =
      'env -i setsid /bin/sh -c "echo \\$\\$ > far; exec sleep 300" & until [ -s far ]; do sleep 0.01; done';
    const tool = registryOf().get('run_command');
    const outcome = await runJob(jobOf(tool, ['sh', '-c', script]), {});
    try {
      expect(outcome).toMatchObject({
        outcomeKnown: false,
        result: {
          error: {
            code: 'transport',
            message: expect.stringContaining('something it started still holds its output'),
          },
        },
      });
    } finally {
      process.kill(pidIn('far'), 'SIGKILL');
    }
  });

  it('is not started once it is cancelled', async () => {
    expect(await run(['touch', 'made'], { signal: AbortSignal.abort() })).toMatchObject({
      error: { code: 'cancelled' },
    });
    expect(existsSync(join(root(), 'made'))).toBe(false);
  });
});

it('runs a script of the folder', async () => {
  writeFileSync(join(root(), 'go.sh'), '#!/bin/sh\necho "$1"\n');
  chmodSync(join(root(), 'go.sh'), 0o755);
  expect(await run(['./go.sh', '$1'])).toMatchObject({ content: '$1\n' });
});

describeWithBubblewrap('in a sandbox', () => {
  beforeEach(() => giveAway(root()));
  const inside = (options: SandboxOptions = {}) => ({ sandbox: sandbox({ write: [root()], ...options }) });

  it('runs as before, and sees no variable unless the pack names it', async () => {
    process.env['MY_SETTING'] = 'on';
    mkdirSync(join(root(), 'sub'));
    try {
      const bare = await shell('pwd; env; exit 3', { ...inside(), cwd: 'sub' });
      expect(bare.error?.details).toMatchObject({ exit_code: 3 });
      expect(bare.content).toContain(`${join(root(), 'sub')}\n`);
      expect(bare.content).not.toContain('MY_SETTING');
      const named = await shell('echo $MY_SETTING', { ...inside(), env: ['MY_SETTING'] });
      expect(named).toMatchObject({ success: true, content: 'on\n' });
    } finally {
      delete process.env['MY_SETTING'];
    }
  });

  it('shows whoever approves what it can reach', async () => {
    const tool = registryOf(inside({ network: { hosts: ['example.com'] } })).get('run_command');
    const { signal } = new AbortController();
    const context = makeContext({ callId: '1.1', tool: 'run_command' }, {}, { signal });
    const shown = await tool?.preview?.({ argv: ['ls'], cwd: '.' }, context);
    expect(shown?.text).toMatch(/^ls\nin \.\nin a sandbox: no home/);
    expect(shown?.text).toContain(`writes: ${root()}\nnetwork: only example.com (HTTP, HTTPS)\nlimits: 60 s`);
  });

  it('proves that it was stopped, with all that it started', async () => {
    const abort = new AbortController();
    const script = 'setsid sh -c "env -i sleep 86399 &"; echo started > ready; sleep 300';
    const running = shell(script, { ...inside(), signal: abort.signal });
    await until(() => existsSync(join(root(), 'ready')));
    abort.abort();
    const { error, content } = await running;
    expect(error).toMatchObject({ code: 'cancelled' });
    expect(content).toMatch(/was ended by SIGKILL/);
  });

  it('does not run, and nobody is asked, where the sandbox cannot be made', async () => {
    const options = { sandbox: sandbox({ write: [root(), join(root(), 'missing')] }) };
    expect(await run(['touch', 'made'], options)).toMatchObject({ success: false });
    expect(existsSync(join(root(), 'made'))).toBe(false);
    const { signal } = new AbortController();
    const context = makeContext({ callId: '1.1', tool: 'run_command' }, {}, { signal });
    const preview = registryOf(options)
      .get('run_command')
      ?.preview?.({ argv: ['ls'], cwd: '.' }, context);
    await expect(preview).rejects.toMatchObject({ code: 'config_invalid' });
  });

  it('has to show the folder in which commands start', () => {
    expect(() => createShellTools({ root: root(), sandbox: sandbox() })).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    );
  });
});
