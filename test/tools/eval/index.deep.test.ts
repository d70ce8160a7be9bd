import { writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { provenBy } from '../../../src/tools/errors';
import { createEvalTools, type EvalOptions } from '../../../src/tools/eval';
import { createExecutor } from '../../../src/tools/executor';
import { makeContext } from '../../../src/tools/context';
import { createRegistry } from '../../../src/tools/registry';
import { sandbox } from '../../../src/tools/sandbox';
import type { Tool } from '../../../src/tools/types';
import { ensureBuilt, root as packageRoot } from '../../support/build';
import {
  describeWithBubblewrap,
  giveAway,
  lasting,
  running,
  sandboxDirectory,
  untilGone,
  untilRunning,
} from '../../support/sandbox';

const work = sandboxDirectory();
const MIB = 1024 * 1024;

interface How {
  turn?: string;
  signal?: AbortSignal;
  /** Gets what the code writes while it runs. */
  onPartial?(text: string): void;
}
type Calls = (code: string, how?: How) => Promise<string>;

/** A pack, and calls of one turn. */
const pack = (options: EvalOptions = {}): Calls => {
  const [tool] = createEvalTools({ idle: '1 minute', ...options });
  return async (
    code,
    { turn = 'turn', signal = new AbortController().signal, onPartial = () => undefined } = {},
  ) => {
    const context = makeContext(
      { callId: '1.1', tool: 'eval_code', turn },
      {},
      { signal, live: { partial: onPartial } },
    );
    return String(await tool?.handle({ code }, context));
  };
};

/** Starts a process that is found by its name, and leaves it. */
const spawning = (seconds: string): string =>
  `require('child_process').spawn('setsid', ['sleep', '${seconds}'], { stdio: 'ignore' });`;

const failing = (call: Promise<string>): Promise<unknown> =>
  call.then(
    (text) => `answered: ${text}`,
    (error: unknown) => error,
  );

describeWithBubblewrap('code', () => {
  it.each([
    ['a value', '1 + 1', 'Value: 2'],
    ['a text', "'a\\nb'", "Value: 'a\\nb'"],
    [
      'an object',
      '{ a: [1, { b: new Map([[1, 2]]) }] }',
      'Value: {\n  a: [ 1, { b: Map(1) { 1 => 2 } } ]\n}',
    ],
    ['nothing', 'let a = 1', 'Value: undefined'],
    ['numbers that JSON lacks', '[NaN, -0, 10n]', 'Value: [ NaN, -0, 10n ]'],
    ['one of them alone', '-0', 'Value: -0'],
    ['a symbol', "Symbol('x')", 'Value: Symbol(x)'],
    ['await', 'await new Promise((done) => setTimeout(done, 5, 7))', 'Value: 7'],
    ['TypeScript', 'const a: number = 3; a satisfies number', 'Value: 3'],
    ['output before the value', "console.log('a'); process.stdout.write('b\\n'); 1", 'a\nb\n\nValue: 1'],
    ['an error as a value', "new RangeError('x').message", "Value: 'x'"],
    ['a proxy that throws', 'new Proxy({}, { get() { throw 1 } })', 'Value: {}'],
    [
      'what shows itself and throws',
      "({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no') } })",
      'Value: [a value that cannot be shown: Error: no]',
    ],
  ])('answers %s', async (_case, code, expected) => {
    expect(await pack()(code)).toBe(expected);
  });

  it('keeps what it defines, and takes names again', async () => {
    const run = pack();
    await run("import { join } from 'node:path'; const x = 1; class A { y = 2 } function f() { return x }");
    expect(await run('const x = 5; [x, f(), new A().y, join("a", "b")]')).toBe("Value: [ 5, 5, 2, 'a/b' ]");
    expect(await run('let x = await import("node:os"); typeof x.cpus')).toBe("Value: 'function'");
    expect(await run('typeof require("fs").readFileSync')).toBe("Value: 'function'");
  });

  it('keeps turns apart', async () => {
    const run = pack();
    await run('globalThis.secret = 1; const x = 2');
    const other = await failing(run('globalThis.secret ?? x', { turn: 'other' }));
    expect(String(other)).toContain('ReferenceError: x is not defined');
  });

  it('runs calls of one turn in their order', async () => {
    const run = pack();
    const calls = [1, 2, 3].map((n) =>
      run(`globalThis.all = [...(globalThis.all ?? []), ${n}]; await null; all.length`),
    );
    expect(await Promise.all(calls)).toEqual(['Value: 1', 'Value: 2', 'Value: 3']);
  });

  it.each([
    [
      'thrown',
      "function f() { throw new TypeError('bad') }\nf()",
      /^ToolError: TypeError: bad\n {4}at f \(<anonymous>:1:22\)\n {4}at <anonymous>:2:1$/,
    ],
    ['a rejection', "await Promise.reject(new Error('bad'))", /Error: bad/],
    ['thrown without an error', 'throw { a: 1 }', /^ToolError: \{ a: 1 \}$/],
    ['not a program', 'let a = ;', /SyntaxError[^]*Nothing ran/],
  ])('tells an error: %s', async (_case, code, message) => {
    const run = pack();
    expect(String(await failing(run(code)))).toMatch(message);
    expect(await run('1')).toBe('Value: 1');
  });

  it('tells what comes later with a later call, and goes on', async () => {
    const run = pack();
    const code = "setTimeout(() => { console.log('late'); Promise.reject(new Error('lost')); }, 1); 1";
    // A busy machine may see it within the first call already.
    let text = await run(code);
    while (!text.includes('lost')) text += await run('2');
    expect(text).toMatch(/late\n[^]*Unhandled rejection: Error: lost/);
    expect(await run('3')).toMatch(/Value: 3$/);
  });

  it('imports from its folder, which it cannot write', async () => {
    writeFileSync(join(work(), 'own.mjs'), 'export const seven = 7;');
    giveAway(join(work(), 'own.mjs'));
    const run = pack({ root: work(), sandbox: sandbox({ read: [work()] }) });
    expect(await run("import { seven } from './own.mjs'; [seven, process.cwd()]")).toBe(
      `Value: [ 7, '${work()}' ]`,
    );
    expect(String(await failing(run("require('fs').writeFileSync('x', '')")))).toMatch(/EROFS/);
  });
});

describeWithBubblewrap('a process that does not survive', () => {
  it.each<[string, string, RegExp, Parameters<typeof sandbox>[0]]>([
    ['ends itself', "console.log('bye'); process.exit(3)", /ended \(exit code 3\)/, {}],
    ['is killed by its code', 'process.kill(process.pid, "SIGKILL")', /ended \(exit code 137\)/, {}],
    [
      'fills its memory',
      'const a = []; for (;;) a.push(new Array(1e6).fill(1.5))',
      /ended \(/,
      { limits: { memory: 900 * MIB } },
    ],
    ['uses up its time', 'for (;;);', /ended \(/, { limits: { cpu: '1s' } }],
    [
      'closes the channel',
      "require('fs').closeSync(4); await new Promise(() => {})",
      /ended \(|no answer/,
      { limits: { cpu: '1s' } },
    ],
  ])(
    '%s: the model reads that its state is lost, and the next call works',
    async (_case, code, said, options) => {
      const run = pack({ sandbox: sandbox(options) });
      await run('const x = 1');
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), 2000);
      const error = await failing(run(code, { signal: abort.signal }));
      clearTimeout(timer);
      if (!abort.signal.aborted) expect(String(error)).toMatch(said);
      expect(String(error)).toMatch(
        /What earlier calls had defined is lost; the next call starts a new process/,
      );
      expect(await run('typeof x')).toMatch(
        /^\[This is a new process: .*What earlier calls had defined is lost\.\]\nValue: 'undefined'$/,
      );
      expect(await run('2')).toBe('Value: 2');
    },
  );

  it.each([
    ['a loop', "console.log('go'); for (;;);"],
    ['a promise', "console.log('go'); await new Promise(() => {})"],
    ['processes', `${spawning(lasting(21))} ${spawning(lasting(21))} console.log('go'); for (;;);`],
  ])('is killed when it is stopped in %s, and that is proven', async (_case, code) => {
    const run = pack();
    await run('1');
    const abort = new AbortController();
    const error = await failing(run(code, { signal: abort.signal, onPartial: () => abort.abort() }));
    expect(provenBy(error)).toBe('stopped');
    expect(running(lasting(21))).toEqual([]);
  });

  it('says that nothing ran where the sandbox cannot be made, and where a call was stopped before', async () => {
    const missing = pack({ sandbox: sandbox({ read: [join(work(), 'missing')] }) });
    expect(provenBy(await failing(missing('1')))).toBe('nothing_done');
    const aborted = await failing(pack()('1', { signal: AbortSignal.abort() }));
    expect(provenBy(aborted)).toBe('nothing_done');
  });

  it('is ended when it is idle, and when others need its place', async () => {
    const idle = pack({ idle: '1s' });
    await idle(`const x = 1; ${spawning(lasting(23))}`);
    await untilRunning(lasting(23));
    await untilGone(lasting(23));
    expect(await idle('typeof x')).toMatch(/^\[This is a new process: it was idle for too long/);
    const few = pack({ most: 1 });
    await few('1', { turn: 'a' });
    await few('1', { turn: 'b' });
    expect(await few('1', { turn: 'a' })).toMatch(/others needed its place/);
  });

  it('is refused where all are busy', async () => {
    const few = pack({ most: 1 });
    const abort = new AbortController();
    const code = `${spawning(lasting(24))} await new Promise(() => {})`;
    const busy = failing(few(code, { turn: 'a', signal: abort.signal }));
    await untilRunning(lasting(24));
    const refused = await failing(few('1', { turn: 'b' }));
    expect(String(refused)).toMatch(/1 processes are busy/);
    expect(provenBy(refused)).toBe('nothing_done');
    abort.abort();
    await busy;
  });

  it('ends with its worker, also one that is killed', async () => {
    ensureBuilt();
    const script = `const { createEvalTools } = require(${JSON.stringify(join(packageRoot, 'lib', 'index.js'))});
      const { makeContext } = require(${JSON.stringify(join(packageRoot, 'lib', 'tools', 'context.js'))});
      const context = makeContext({ callId: '1', tool: 'eval_code', turn: 't' }, {}, { signal: new AbortController().signal });
      createEvalTools()[0].handle({ code: "require('child_process').spawn('setsid', ['sleep', '${lasting(22)}'], { stdio: 'ignore' }); 1" }, context)
        .then(() => process.argv[1] === 'stay' && setInterval(() => {}, 1000));`;
    const start = (how: string) => spawn(process.execPath, ['-e', script, how], { stdio: 'inherit' });
    const killed = start('stay');
    await untilRunning(lasting(22));
    killed.kill('SIGKILL');
    await untilGone(lasting(22));
    // Nothing is asked any more, so the worker ends by itself.
    const code = await new Promise((resolve) => start('leave').once('exit', resolve));
    expect(code).toBe(0);
    await untilGone(lasting(22));
  });
});

describeWithBubblewrap('code that means harm', () => {
  it.each([
    ['reads no key', "require('fs').readFileSync(process.env.HOME + '/.ssh/id_rsa')", /ENOENT/],
    [
      'sees no variable of the worker',
      'process.env.COUNTERSIGN_TEST_SECRET ?? Object.keys(process.env).sort().join()',
      /'HOME,LANG,LOGNAME,PATH,PWD,TMPDIR,USER'/,
    ],
    [
      'finds its own process by way of a constructor',
      "require('vm').runInNewContext(\"this.constructor.constructor('return process')()\", {}).env.COUNTERSIGN_TEST_SECRET ?? 'nothing'",
      /'nothing'|process is not defined/,
    ],
    [
      'reads by a binding what it could read anyway',
      "process.binding('fs'); (await import('child_process')).execSync('cat /proc/*/environ', { encoding: 'utf8' })",
      /HOME=\/tmp/,
    ],
    [
      'starts no process outside',
      "require('child_process').execSync('ls /root', { stdio: 'pipe' })",
      /cannot access|No such file/,
    ],
    [
      'reaches no network',
      "await fetch('http://169.254.169.254/').catch((e) => e.cause.code)",
      /ENETUNREACH|EACCES|ECONN/,
    ],
  ])('%s', async (_case, code, said) => {
    process.env['COUNTERSIGN_TEST_SECRET'] = 'hunter2';
    const found = String(await failing(pack()(code)));
    delete process.env['COUNTERSIGN_TEST_SECRET'];
    expect(found).toMatch(said);
    expect(found).not.toContain('hunter2');
  });

  it.each([
    [
      'lines that are no answer',
      "const c = { write: (text) => { try { require('fs').writeSync(4, text) } catch {} } }; c.write('x\\n{}\\n[]\\nnull\\n{\"id\":1}\\n'); 5",
      /no answer that can be read/,
    ],
    [
      'answers of other calls',
      "const c = { write: (text) => { try { require('fs').writeSync(4, text) } catch {} } }; for (let id = 0; id < 9; id++) c.write(JSON.stringify({ id: id + 1e6, kind: 'value', text: 'forged' }) + '\\n'); 5",
      /no answer that can be read/,
    ],
    [
      'a line without end',
      "const c = { write: (text) => { try { require('fs').writeSync(4, text) } catch {} } }; for (;;) { c.write('x'.repeat(100000)); await new Promise(setImmediate); }",
      /no answer that can be read/,
    ],
    [
      'other prototypes',
      "Object.prototype.id = 77; Array.prototype.pop = () => 'x'; String.prototype.split = () => []; JSON.stringify = () => 'x'; 5",
      /^answered: Value: 5$/,
    ],
  ])('cannot confuse the worker by %s', async (_case, code, said) => {
    const run = pack();
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 30_000).unref();
    expect(String(await failing(run(code, { signal: abort.signal })))).toMatch(said);
    expect(await run('1', { turn: 'other' })).toBe('Value: 1');
    expect(Reflect.get({}, 'id')).toBeUndefined();
  });

  it('writes without end, and is cut', async () => {
    const run = pack({ outputLimit: 2000 });
    const text = await run("for (let i = 0; i < 1e5; i++) console.log('line ' + i); 'x'.repeat(1e6)");
    expect(text).toMatch(/^line 0\nline 1\n[^]*bytes left out/);
    expect(text.length).toBeLessThan(210_000);
  });
});

describe('the tool', () => {
  const made = (options?: EvalOptions): Tool | undefined => createEvalTools(options)[0];

  it.each<[string, EvalOptions, object]>([
    ['closed', {}, { safety: 'cautious', effect: 'idempotent' }],
    ['closed, but ask', { evaluate: 'ask' }, { safety: 'dangerous', effect: 'idempotent' }],
    [
      'one that reads a folder, where a socket may be',
      { sandbox: sandbox({ read: ['x'] }) },
      { safety: 'dangerous', effect: 'unsafe' },
    ],
    ['one that writes', { sandbox: sandbox({ write: ['x'] }) }, { safety: 'dangerous', effect: 'unsafe' }],
    [
      'one with a network',
      { sandbox: sandbox({ network: { hosts: ['example.com'] } }) },
      { safety: 'dangerous', effect: 'unsafe' },
    ],
    [
      'one that may be left out',
      { sandbox: sandbox({ unsandboxed: true }) },
      { safety: 'dangerous', effect: 'unsafe' },
    ],
  ])('in a sandbox that is %s', (_case, options, expected) => {
    expect(made(options)).toMatchObject(expected);
  });

  it.each<[EvalOptions, RegExp]>([
    [{ idle: 'never' }, /`idle`/],
    [{ most: 0 }, /`most`/],
    [{ root: '.' }, /does not show/],
  ])('refuses %j', (options, message) => {
    expect(() => createEvalTools(options)).toThrow(message);
  });

  it.each<[string, EvalOptions]>([
    ['another folder', { root: '/elsewhere/b', sandbox: sandbox({ read: ['/elsewhere'] }) }],
    ['no folder', { sandbox: sandbox({ read: ['/elsewhere'] }) }],
    ['another sandbox', { root: '/elsewhere/a', sandbox: sandbox({ write: ['/elsewhere'] }) }],
  ])('with %s is another tool for a decision', (_case, options) => {
    const first = () => made({ root: '/elsewhere/a', sandbox: sandbox({ read: ['/elsewhere'] }) })?.digest;
    expect(first()).toBe(first());
    expect(made({ evaluate: 'ask', ...options })?.digest).not.toBe(first());
  });

  it('needs an approval where it is dangerous, and shows what the code can reach', async () => {
    const registry = createRegistry(createEvalTools({ sandbox: sandbox({ write: [work()] }) }));
    const call = { name: 'eval_code', arguments: { code: '1' } };
    expect(await createExecutor({ registry }).execute(call)).toMatchObject({ error: { code: 'denied' } });
    const { signal } = new AbortController();
    const context = makeContext({ callId: '1.1', tool: 'eval_code' }, {}, { signal });
    const shown = await registry.get('eval_code')?.preview?.({ code: 'x()' }, context);
    expect(shown?.text).toMatch(/^Runs in Node\.js in a sandbox[^]*\n\nx\(\)$/);
  });
});
