import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/contract/json';
import { executePlan, planFile } from '../../../src/tools/workspace/plan';
import { type FolderAccess, FOLDER_ACCESS } from '../../../src/tools/workspace/held-folder';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import { createRoot, readBytes } from '../../../src/tools/workspace/root';
import { type Box, contextOf, makeBox, SECRET, takeInHand } from './support';

/** Every tool, asked to do what it does to one path. */
const USES: readonly (readonly [string, (path: string) => JsonObject])[] = [
  ['read_file', (path) => ({ path })],
  ['get_file_info', (path) => ({ path })],
  ['list_directory', (path) => ({ path })],
  ['directory_tree', (path) => ({ path })],
  ['search_files', (path) => ({ path, query: 'secret' })],
  ['write_file', (path) => ({ path, content: 'x' })],
  ['create_file', (path) => ({ path, content: 'x' })],
  ['edit_file', (path) => ({ path, edits: [{ old_text: 'secret', new_text: 'x' }] })],
  ['insert_at_line', (path) => ({ path, line: 1, text: 'x' })],
  ['propose_file_edit', (path) => ({ path, new_content: 'x' })],
  ['move_file', (path) => ({ from: path, to: 'moved.txt' })],
  ['move_file', (path) => ({ from: 'a.txt', to: path })],
  ['delete_file', (path) => ({ path })],
];

const WRITERS = USES.filter(([name]) => /write|create|edit|insert|move|delete/.test(name));

/** Every name in and beside the workspace, with its kind, permissions and size. */
function everything({ root }: Box): string[] {
  const below = (folder: string): string[] =>
    readdirSync(folder).flatMap((name) => {
      const facts = lstatSync(join(folder, name));
      const line = `${join(folder, name)} ${facts.mode} ${facts.isDirectory() ? '' : facts.size}`;
      return facts.isDirectory() ? [line, ...below(join(folder, name))] : [line];
    });
  return below(join(root, '..')).sort();
}

async function refused(box: Box, path: string, uses = USES): Promise<void> {
  const hands = takeInHand(createWorkspaceTools({ root: box.root }));
  const before = everything(box);
  for (const [name, argsOf] of uses) {
    const args = argsOf(path);
    const said = await hands.say(name, args);
    expect([name, path, /^(tool|conflict): /.test(said)]).toEqual([name, path, true]);
    expect(said).not.toContain(SECRET.trim());
    expect(said.replaceAll(path, '')).not.toContain(box.root);
    if (hands.tool(name).preview !== undefined) await expect(hands.preview(name, args)).rejects.toThrow();
  }
  expect(everything(box)).toEqual(before);
  expect(readFileSync(join(box.outside, 'secret.txt'), 'utf8')).toBe(SECRET);
}

describe('paths that lead outside are refused by every tool', () => {
  it.each([
    ['relative', '../outside/secret.txt'],
    ['relative', '../../../../../../etc/passwd'],
    ['relative', 'a/../../outside/secret.txt'],
    ['relative', '..'],
    ['relative', './/..//outside'],
    ['absolute', '/etc/passwd'],
    ['absolute', '//etc/passwd'],
    ['with a NUL', 'a\0.txt'],
    ['with a NUL', 'ok.txt\0/../../outside/secret.txt'],
    ['too long', 'x'.repeat(5000)],
    ['too deep', `${'x/'.repeat(200)}x`],
  ])('%s %j', (_, path) => refused(makeBox({ 'a.txt': 'secret here\n' }), path));

  it('a folder beside the workspace whose name begins the same', async () => {
    const box = makeBox();
    mkdirSync(`${box.root}-evil`);
    await refused(box, '../proj-evil/x');
    await refused(box, `${box.root}-evil/x`);
    await refused(box, `${box.root}/x`);
  });
});

describe('names are taken literally, never decoded or expanded', () => {
  it.each([
    'file:///etc/passwd',
    '~/.config/id_rsa',
    '$HOME/x',
    '%2e%2e%2foutside%2fsecret.txt',
    '..\\..\\outside\\secret.txt',
    '....//outside/secret.txt',
    'CON',
    'a:stream',
    '\\\\host\\share\\x',
    'trailing. ',
    '-rf',
    'line\nbreak',
    '\u202etxt.exe',
  ])('%j', async (path) => {
    const box = makeBox();
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    expect(await hands.say('read_file', { path })).toContain('does not exist');
    expect(await hands.say('create_file', { path, content: 'mine\n' })).toContain('Wrote');
    expect(box.text(path)).toBe('mine\n');
    expect(readdirSync(box.outside)).toEqual(['secret.txt']);
  });
});

describe('links are followed by no tool', () => {
  it('a link to a file outside, and to one inside', async () => {
    const box = makeBox({ 'a.txt': 'secret here\n' });
    symlinkSync(join(box.outside, 'secret.txt'), join(box.root, 'out'));
    symlinkSync('a.txt', join(box.root, 'in'));
    symlinkSync(box.outside, join(box.root, 'folder'));
    symlinkSync('.', join(box.root, 'self'));
    await refused(box, 'out');
    await refused(box, 'in');
    await refused(box, 'folder');
    await refused(box, 'folder/secret.txt');
    await refused(box, 'self/a.txt');
  });

  it('a linked parent of what does not exist yet', async () => {
    const box = makeBox({ 'a.txt': 'secret\n' });
    symlinkSync(box.outside, join(box.root, 'folder'));
    await refused(box, 'folder/new.txt');
    await refused(box, 'folder/new/deep.txt');
  });

  it('chains and loops, and a link to nothing', async () => {
    const box = makeBox({ 'a.txt': 'secret\n' });
    const chain = [
      [join(box.outside, 'secret.txt'), 'one'],
      ['one', 'two'],
      ['two', 'three'],
      ['loop', 'loop'],
    ];
    for (const [to = '', name = ''] of chain) symlinkSync(to, join(box.root, name));
    symlinkSync(join(box.outside, 'nothing'), join(box.root, 'dangling'));
    await refused(box, 'three');
    await refused(box, 'loop');
    await refused(box, 'dangling');
    expect(existsSync(join(box.outside, 'nothing'))).toBe(false);
  });

  it('a tree and a search go past links, loops and what cannot be read as a file', async () => {
    const box = makeBox({ 'a.txt': 'needle\n', 'sub/b.txt': 'needle\n' });
    symlinkSync('..', join(box.root, 'sub', 'up'));
    symlinkSync(box.outside, join(box.root, 'out'));
    execFileSync('mkfifo', [join(box.root, 'pipe')]);
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    expect(await hands.run('directory_tree', {})).toBe(
      'a.txt\nout (link)\npipe (not a file)\nsub/\n  b.txt\n  up (link)',
    );
    expect(await hands.run('search_files', { query: 'e' })).toBe('a.txt:1: needle\nsub/b.txt:1: needle');
  });
});

describe('only regular files, of a size that fits, are read and written', () => {
  it('a pipe, a socket and a folder are refused without waiting', async () => {
    const box = makeBox({ 'a.txt': 'secret\n', 'folder/b.txt': 'b\n' });
    execFileSync('mkfifo', [join(box.root, 'pipe')]);
    const server = createServer().listen(join(box.root, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    const files = USES.filter(
      ([name]) => !['list_directory', 'directory_tree', 'search_files'].includes(name),
    );
    try {
      await refused(box, 'pipe');
      await refused(box, 'socket');
      await refused(box, 'folder', files);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('a file of 10 GiB is described and searched past, but not read or changed', async () => {
    const box = makeBox({ 'big.txt': 'secret\n', 'a.txt': 'a\n' });
    truncateSync(join(box.root, 'big.txt'), 10 * 1024 ** 3);
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    expect(await hands.say('read_file', { path: 'big.txt' })).toMatch(/^tool: .* has 10737418240 bytes/);
    expect(
      await hands.say('edit_file', { path: 'big.txt', edits: [{ old_text: 'a', new_text: 'b' }] }),
    ).toMatch(/^tool: /);
    expect(await hands.run('get_file_info', { path: 'big.txt' })).toMatchObject({ size: 10 * 1024 ** 3 });
    expect(await hands.run('search_files', { query: 'secret' })).toBe(
      'No file that was searched has "secret".\n(not searched, over 2 MiB or not readable: big.txt)',
    );
    expect((await hands.preview('delete_file', { path: 'big.txt' })).text).toContain(
      'SHA-256 of its size, time, first and last MiB',
    );
  });

  it('has a limit of its own for a pack', async () => {
    const box = makeBox({ 'a.txt': 'x'.repeat(101), 'b.txt': 'x'.repeat(100) });
    const hands = takeInHand(createWorkspaceTools({ root: box.root, limits: { fileBytes: 100 } }));
    expect(await hands.say('read_file', { path: 'a.txt' })).toMatch(/over 100 bytes/);
    expect(await hands.run('read_file', { path: 'b.txt' })).toBe('x'.repeat(100));
  });
});

describe('protected names are not written, however they are spelled, whether or not they exist', () => {
  it.each([
    '.git/config',
    '.git',
    '.GIT/config',
    '.Git/hooks/pre-commit',
    'sub/.git/hooks/x',
    '.g\u200cit/config',
    '.ｇｉｔ/config',
    '.gıt/../.git/config',
    '.git./config',
    '.git /config',
    '.git::$INDEX_ALLOCATION/config',
    'GIT~1/config',
    '.git/hooks/pre-commit',
    '.husky/pre-commit',
    '.hg/hgrc',
    '.gitconfig',
    '.countersign/journal',
    'sub/.countersign-0123456789abcdef01234567.tmp',
    '.Countersign-0123456789abcdef01234567.kept',
    'countersign.config.ts',
    'Countersign.Config.mjs',
    'countersign.mcp.lock',
    'approvers.yaml',
    'infra/Approvers.YAML',
    'notify.yaml',
    '.mcp.json',
    '.claude/settings.json',
    '.cursor/mcp.json',
    '.env',
    '.ENV',
    'api/.env',
    '.env.local',
    '.Env.Production',
    '.env::$DATA',
    '.ｅｎｖ',
    '.envrc',
    '.ssh/authorized_keys',
    '~/.ssh/id_rsa',
    '.vscode/tasks.json',
    '.VSCode/settings.json',
    '.v\u017fcode/tasks.json',
    '.vs\u200dcode/tasks.json',
    'VSCODE~1/tasks.json',
    'sub/.idea/workspace.xml',
    '.devcontainer/devcontainer.json',
    '.devcontainer.json',
    '.exrc',
    '.npmrc',
    '.yarnrc.yml',
    '.pnpmfile.cjs',
    '.cargo/config.toml',
    '.bashrc',
    '.profile',
    '.zshenv',
  ])('%j', (path) => refused(makeBox({ 'a.txt': 'secret\n' }), path, WRITERS));

  it.each([
    ['.env', /^tool: \.env is not written by tools: it holds keys/],
    ['.env.local', /^tool: \.env\.local is not written by tools: it holds keys/],
    ['countersign.config.ts', /it says what agents may do/],
    ['.countersign-0.kept', /it is a file that the tools keep for a moment\. A person has to move it/],
    ['.countersign/x', /it holds the record of what ran/],
    ['approvers.yaml', /it says who decides/],
    ['.git/hooks/x', /^tool: \.git is not written by tools: it could run code later\. Use git itself\.$/],
    ['.vscode/tasks.json', /an editor runs what it says/],
    ['.npmrc', /a package manager or a build runs/],
    ['.bashrc', /a shell runs it/],
  ])('%j that is there stays, can be read, and the model learns why', async (path, why) => {
    const box = makeBox({ [path]: 'as it was\n' });
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    expect(await hands.say('write_file', { path, content: 'x\n' })).toMatch(why);
    expect(await hands.say('delete_file', { path })).toMatch(why);
    expect(await hands.run('read_file', { path })).toBe('as it was\n');
  });

  it.each([
    '.gitignore',
    '.github/workflows/ci.yml',
    'git/x',
    '.environment',
    'env.ts',
    'env/.keep',
    'vscode/tasks.json',
    'countersign.ts',
    'approvers.md',
    'npmrc.md',
    'constructor',
    '__proto__',
    'toString/valueOf',
  ])('%j is not a protected name', async (path) => {
    const box = makeBox();
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    expect(await hands.say('create_file', { path, content: 'x\n' })).toContain('Wrote');
    expect(box.text(path)).toBe('x\n');
  });
});

describe('the permissions of a file that is written', () => {
  it.each([
    ['a script stays executable', 0o755, 0o755],
    ['a private file stays private', 0o600, 0o600],
    ['set-user and set-group bits are dropped', 0o6755, 0o755],
  ])('%s', async (_, before, after) => {
    const box = makeBox();
    const at = box.write('a.txt', 'a\n');
    execFileSync('chmod', [before.toString(8), at]);
    await takeInHand(createWorkspaceTools({ root: box.root })).run('write_file', {
      path: 'a.txt',
      content: 'b\n',
    });
    expect((statSync(at).mode & 0o7777).toString(8)).toBe(after.toString(8));
  });

  it('a new file is neither executable nor writable by others', async () => {
    const box = makeBox();
    await takeInHand(createWorkspaceTools({ root: box.root })).run('create_file', {
      path: 'n.sh',
      content: '#!',
    });
    expect(statSync(join(box.root, 'n.sh')).mode & 0o7133).toBe(0);
  });
});

describe('temporary files', () => {
  it('are gone after a write, and after one that failed', async () => {
    const box = makeBox({ 'a.txt': 'old\n' });
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    const plan = await hands.plan('create_file', { path: 'new.txt', content: 'x\n' });
    box.write('new.txt', 'came first\n');
    expect(await hands.say('create_file', { path: 'new.txt', content: 'x\n' }, { plan })).toMatch(
      /^conflict: /,
    );
    await hands.run('write_file', { path: 'a.txt', content: 'new\n' });
    expect(readdirSync(box.root).sort()).toEqual(['a.txt', 'new.txt']);
  });
});

describe('the root', () => {
  it('may itself be a link, and need not exist before it is used', async () => {
    const box = makeBox({ 'a.txt': 'a\n' });
    const link = join(box.outside, 'link');
    const hands = takeInHand(createWorkspaceTools({ root: link }));
    expect(await hands.say('read_file', { path: 'a.txt' })).toMatch(
      /^tool: The workspace folder cannot be opened/,
    );
    symlinkSync(box.root, link);
    expect(await hands.run('read_file', { path: 'a.txt' })).toBe('a\n');
  });
});

const HOLDINGS: FolderAccess[] = FOLDER_ACCESS === 'descriptors' ? ['descriptors', 'checks'] : ['checks'];

describe.each(HOLDINGS)('folders held by %s', (holding) => {
  it('are read, written and made, and no link is followed', async () => {
    const box = makeBox({ 'a/b/c.txt': 'old\n' });
    symlinkSync(box.outside, join(box.root, 'a', 'link'));
    const root = createRoot(box.root, { holding });
    const write = async (path: string): Promise<unknown> =>
      executePlan(root, await planFile(root, path, () => 'new\n'));
    await write('a/b/c.txt');
    await write('x/y/z.txt');
    expect([box.text('a/b/c.txt'), box.text('x/y/z.txt')]).toEqual(['new\n', 'new\n']);
    await expect(root.inParent('a/link/secret.txt', readBytes)).rejects.toThrow('links are not followed');
    await expect(write('a/link/new.txt')).rejects.toThrow('links are not followed');
    await expect(root.inParent('a/b/c.txt/d', readBytes)).rejects.toThrow('not a folder');
    await expect(root.inFolder('nothing', async () => {})).rejects.toThrow('does not exist');
    expect(readdirSync(box.outside)).toEqual(['secret.txt']);
  });
});

it('a call that was cancelled before writes nothing', async () => {
  const box = makeBox({ 'a.txt': 'old\n' });
  const hands = takeInHand(createWorkspaceTools({ root: box.root }));
  const { signal } = contextOf({ signal: AbortSignal.abort() });
  for (const [name, args] of [
    ['write_file', { path: 'a.txt', content: 'new\n' }],
    ['delete_file', { path: 'a.txt' }],
    ['move_file', { from: 'a.txt', to: 'b.txt' }],
  ] as const)
    await expect(hands.run(name, args, { signal })).rejects.toThrow();
  expect(readdirSync(box.root)).toEqual(['a.txt']);
  expect(box.text('a.txt')).toBe('old\n');
});
