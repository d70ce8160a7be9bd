import { describeError, run, type RunOptions } from '../../src/engine/run';

const node = (code: string, options: RunOptions = {}) => run(process.execPath, ['-e', code], options);

describe('a command', () => {
  it('gives its lines of both streams and its exit code', async () => {
    const { code, signal, lines } = await node("console.log('out'); console.error('err'); process.exit(3)");
    expect({ code, signal, lines: lines.sort() }).toEqual({ code: 3, signal: null, lines: ['err', 'out'] });
  });

  it('hands on each line as it comes, the last one without a line break', async () => {
    const seen: string[] = [];
    await node("process.stdout.write('a\\nb')", { onLine: (line: string) => seen.push(line) });
    expect(seen).toEqual(['a', 'b']);
  });

  it('has the folder and the environment that it is given, and no input', async () => {
    const { lines } = await node(
      "process.stdin.on('end', () => console.log(process.cwd(), process.env.ONE)).resume()",
      { cwd: '/', env: { ONE: 'two' } },
    );
    expect(lines).toEqual(['/ two']);
  });

  it('does not go through a shell', async () => {
    expect((await run('echo', ['$HOME; ls'])).lines).toEqual(['$HOME; ls']);
  });

  it('is ended after its time', async () => {
    expect(await node('setInterval(() => {}, 1000)', { timeoutMs: 50 })).toMatchObject({
      code: null,
      signal: 'SIGKILL',
    });
  });

  it.each([
    ['that is not there', '/nowhere/at/all', 'ENOENT'],
    ['that is a folder', '/', 'EACCES'],
  ])('%s cannot be started', async (_case, command, code) => {
    await expect(run(command, [], { timeoutMs: 10_000 })).rejects.toMatchObject({ code });
  });
});

it.each<[string, unknown, string]>([
  ['an error', new Error('no'), 'no'],
  [
    'the deepest cause',
    new Error('fetch failed', { cause: new Error('x', { cause: new Error('deep') }) }),
    'deep',
  ],
  ['a cause that is not an error', new Error('outer', { cause: 'said so' }), 'said so'],
  ['a full disk', Object.assign(new Error('ENOSPC: x'), { code: 'ENOSPC' }), 'the disk is full'],
  [
    'a full disk as a cause',
    new Error('x', { cause: Object.assign(new Error('y'), { code: 'ENOSPC' }) }),
    'the disk is full',
  ],
  ['text', 'text', 'text'],
  ['nothing', undefined, 'undefined'],
])('describes %s in one line', (_case, error, line) => {
  expect(describeError(error)).toBe(line);
});
