import { execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProcessEnd } from '../../../src/tools/run-process';
import { provenBy } from '../../../src/tools/errors';
import { sandbox, type SandboxOptions } from '../../../src/tools/sandbox';
import { findProgram } from '../../../src/tools/sandbox/bubblewrap';
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
const isRoot = process.geteuid?.() === 0;
const MIB = 1024 * 1024;
/** The folder that holds the home of this user. */
const HOMES = join(process.env['HOME'] ?? '/root', '..');

/** A folder of this machine that no sandbox lists. */
let outside = '';
beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), 'countersign-outside-'));
  mkdirSync(join(outside, '.ssh'));
  writeFileSync(join(outside, '.ssh', 'id_rsa'), 'hunter2');
  giveAway(outside, join(outside, '.ssh'), join(outside, '.ssh', 'id_rsa'));
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

const shell = (script: string, options: SandboxOptions = {}, more = {}): Promise<ProcessEnd> => {
  const box = sandbox({ write: [work()], ...options });
  return box.run({ argv: ['sh', '-c', script], cwd: work(), ...more });
};

const listen = (server: Server, where: string | number): Promise<void> =>
  new Promise((resolve) =>
    typeof where === 'string' ? server.listen(where, resolve) : server.listen(where, '127.0.0.1', resolve),
  );

const portOf = (server: Server): number => {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('it does not listen on a port');
  return address.port;
};

describeWithBubblewrap('what a program sees', () => {
  it('is its folder, the programs of the system, and a /tmp and a user of its own', async () => {
    const end = await shell('pwd; id -un; echo $HOME; ls -A /tmp | grep -v ^countersign-; node -p 1+1');
    expect(end).toMatchObject({ code: 0, survivors: 0, output: `${work()}\nsandbox\n/tmp\n2\n` });
  });

  it.each([
    ['a key in a home', () => `cat ${outside}/.ssh/id_rsa`],
    ['the home of root', () => 'ls /root'],
    ['homes', () => 'ls /home'],
    ['sockets of services', () => 'ls /run'],
    ['data of services', () => 'ls /var'],
    ['devices of the kernel', () => 'ls /sys'],
    ['passwords', () => 'cat /etc/shadow'],
    ['keys of TLS', () => 'ls /etc/ssl/private'],
    ['a link out of its folder', () => `ln -s ${outside}/.ssh l && cat l/id_rsa`],
    ['a path with dots', () => `cat ${work()}/../../${outside}/.ssh/id_rsa`],
    ['memory of its first process', () => 'cat /proc/1/mem'],
    ['disks', () => 'ls /dev/vda /dev/sda /dev/mem'],
  ])('is not %s', async (_case, script) => {
    const end = await shell(script());
    expect(end.code).not.toBe(0);
    expect(end.output).not.toContain('hunter2');
  });

  it.each([
    ['keys of the worker', 'syscall(250, 0, -3, 0)'],
    ['new keys', 'syscall(248, my $t = "user", my $d = "a", my $p = "b", 1, -3)'],
    ['io_uring', 'syscall(425, 8, my $p = "0" x 120)'],
    ['userfaultfd', 'syscall(323, 1)'],
    ['a socket of the hypervisor', 'syscall(41, 40, 1, 0)'],
    ['a set-user-id file, made', 'syscall(85, my $a = "made", 04755)'],
    ['a set-user-id file, opened', 'syscall(257, -100, my $a = "made", 0101, 04755)'],
    ['a set-user-id node', 'syscall(133, my $a = "made", 0104755, 0)'],
    ['a set-user-id file, changed', 'chmod(04755, "plain") - 1'],
    ['a set-group-id file, changed', 'chmod(02755, "plain") - 1'],
    ['a call of x32', 'syscall(0x40000000 + 39)'],
  ])('is not %s', async (_case, call) => {
    if (process.arch !== 'x64') return;
    const end = await shell(
      `touch plain && perl -e 'exit((${call}) < 0 ? 7 : 0)'; echo $?; find . -perm /6000`,
    );
    expect(end.output).toBe('7\n');
  });

  it('has no names of keys of the worker', async () => {
    expect((await shell('cat /proc/keys')).output).not.toMatch(/keyring|user/);
  });

  it.each([
    ['node', ['-p', 'require("child_process").execSync("echo " + (1 + 1)).toString().trim()']],
    ['bash', ['-c', 'echo $((1 + 1))']],
    ['python3', ['-c', 'import subprocess, threading; print(subprocess.getoutput("echo 2"))']],
    ['perl', ['-e', 'chmod 0755, "x"; print 1 + 1, "\\n"']],
    [
      'sbcl',
      ['--dynamic-space-size', '256', '--noinform', '--eval', '(progn (format t "~a~%" (+ 1 1)) (quit))'],
    ],
  ])('has a %s that works', async (program, words) => {
    if (findProgram(program, '/usr/bin:/bin') === undefined && program !== 'node') return;
    const argv = [program === 'node' ? process.execPath : program, ...words];
    const end = await sandbox({ write: [work()] }).run({ argv, cwd: work() });
    expect(end).toMatchObject({ code: 0, output: '2\n' });
  });

  it('hides the variables of the worker in every environment that it can read', async () => {
    process.env['COUNTERSIGN_TEST_SECRET'] = 'hunter2';
    try {
      const { output } = await shell('env; cat /proc/*/environ');
      expect(output).toContain('HOME=/tmp');
      expect(output).not.toContain('hunter2');
    } finally {
      delete process.env['COUNTERSIGN_TEST_SECRET'];
    }
  });

  it('is what a variable that it is given says', async () => {
    expect(await shell('echo $NAMED', {}, { env: { NAMED: 'on' } })).toMatchObject({ output: 'on\n' });
  });

  it.each([
    ['rights', 'grep -E "^Cap(Eff|Prm|Bnd)" /proc/self/status | grep -v 0000000000000000'],
    ['way to rights of a file', 'grep "NoNewPrivs:.0" /proc/self/status'],
    ['namespace in which it would be root', 'unshare --user --map-root-user true'],
    ['settings of the kernel', 'cat /proc/sys/kernel/pid_max > p; cat p > /proc/sys/kernel/pid_max'],
    ['process of the machine', `kill -0 ${process.pid}`],
    ['network card', 'tail -n +3 /proc/net/dev | grep -v "lo:"'],
  ])('has: no %s', async (_case, script) => {
    expect((await shell(script)).code).not.toBe(0);
  });
});

describeWithBubblewrap('what a program writes', () => {
  it('stays in the folders for it', async () => {
    mkdirSync(join(work(), 'data'));
    writeFileSync(join(work(), 'data', 'kept'), 'old');
    giveAway(join(work(), 'data'), join(work(), 'data', 'kept'));
    const script = [
      'echo new > made',
      'echo new > data/kept',
      'rm -f data/kept',
      'mv data other',
      'for f in / /usr /etc /dev /proc /countersign; do echo x > $f/x; done',
    ].join('\n');
    const end = await shell(script, { read: [join(work(), 'data')] });
    expect(
      end.output.match(/Read-only file system|Permission denied|busy|Directory nonexistent/g)?.length,
    ).toBe(9);
    expect(readFileSync(join(work(), 'made'), 'utf8')).toBe('new\n');
    expect(readFileSync(join(work(), 'data', 'kept'), 'utf8')).toBe('old');
  });

  it('does not put a link in the way of a later sandbox', async () => {
    mkdirSync(join(work(), 'a', 'b'), { recursive: true });
    giveAway(join(work(), 'a'), join(work(), 'a', 'b'));
    const box = sandbox({ write: [work()], read: [join(work(), 'a', 'b')] });
    const script = `mv a c; rmdir a/b; mkdir -p a && ln -s ${outside}/.ssh a/b; ls -l a`;
    await box.run({ argv: ['sh', '-c', script], cwd: work() });
    expect(existsSync(join(work(), 'a', 'b', 'id_rsa'))).toBe(false);
    expect(existsSync(join(work(), 'c'))).toBe(false);
  });

  describe('when it unpacks an archive of a stranger', () => {
    const pack = (...words: string[]): void => {
      execFileSync('tar', ['-P', '-czf', join(work(), 'a.tgz'), ...words], { cwd: outside });
      giveAway(join(work(), 'a.tgz'));
    };

    it.each<[string, () => void]>([
      ['an absolute path', () => pack('--transform', `s|^loot|${outside}/.ssh/loot|`, 'loot')],
      ['dots in a path', () => pack('--transform', `s|^loot|../../../../..${outside}/.ssh/loot|`, 'loot')],
      [
        'a link, and a path through it',
        () => {
          symlinkSync(join(outside, '.ssh'), join(outside, 'way'));
          pack('--transform', 's|^loot|way/loot|', 'way', 'loot');
        },
      ],
    ])('writes nothing elsewhere, with %s', async (_case, make) => {
      writeFileSync(join(outside, 'loot'), 'evil');
      make();
      // Without the sandbox these words do write there.
      const words = ['tar', '-P', '-xzf', join(work(), 'a.tgz')];
      await sandbox({ write: [work()] }).run({ argv: words, cwd: work() });
      expect(existsSync(join(outside, '.ssh', 'loot'))).toBe(false);
      const bare = mkdtempSync(join(tmpdir(), 'countersign-bare-'));
      const [program = '', ...rest] = words;
      try {
        execFileSync(program, rest, { cwd: bare });
      } finally {
        rmSync(bare, { recursive: true, force: true });
      }
      expect(readFileSync(join(outside, '.ssh', 'loot'), 'utf8')).toBe('evil');
    });

    it('ends it where a small archive becomes a large file', async () => {
      writeFileSync(join(outside, 'loot'), '');
      truncateSync(join(outside, 'loot'), 64 * MIB);
      pack('loot');
      const { output } = await shell('tar -xzf a.tgz; ls -l a.tgz', { limits: { fileSize: 8 * MIB } });
      expect(output).toMatch(/File (too large|size limit exceeded)/i);
      expect(statSync(join(work(), 'loot')).size).toBeLessThanOrEqual(8 * MIB);
      expect(statSync(join(work(), 'a.tgz')).size).toBeLessThan(MIB);
    });
  });

  it('is refused once a listed folder leads elsewhere', async () => {
    const folder = join(work(), 'mine');
    mkdirSync(folder);
    giveAway(folder);
    const box = sandbox({ read: [folder] });
    expect(await box.run({ argv: ['true'] })).toMatchObject({ code: 0 });
    renameSync(folder, `${folder}-away`);
    symlinkSync(join(outside, '.ssh'), folder);
    const refused = await box
      .run({ argv: ['cat', join(outside, '.ssh', 'id_rsa')] })
      .catch((error: unknown) => error);
    expect(String(refused)).toMatch(/leads elsewhere than before.*Nothing ran/);
    expect(provenBy(refused)).toBe('nothing_done');
  });
});

describeWithBubblewrap('the network', () => {
  it('does not reach a port or a socket of this machine', async () => {
    const hello = (socket: { end(text: string): void }) => socket.end('hunter2');
    const [tcp, unix, abstract] = [createServer(hello), createServer(hello), createServer(hello)];
    const name = `countersign-${process.pid}`;
    try {
      await listen(tcp, 0);
      await listen(unix, join(outside, 'socket'));
      await listen(abstract, `\0${name}`);
      const target = [
        `{port:${portOf(tcp)},host:'127.0.0.1'}`,
        `'${join(outside, 'socket')}'`,
        `'\\0${name}'`,
      ];
      const script = `for (const to of [${target.join(',')}])
        require('net').connect(to).on('error', (e) => console.log(e.code)).on('data', (d) => console.log(String(d)))`;
      const box = sandbox();
      const { output } = await box.run({ argv: ['node', '-e', script] });
      expect(output.trim().split('\n').sort()).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ENOENT']);
    } finally {
      for (const server of [tcp, unix, abstract]) server.close();
    }
  });

  it('finds no address of a name: no resolver is asked', async () => {
    const script = `require('dns').lookup('example.com', (e) => console.log(e.code))`;
    const { output } = await sandbox().run({ argv: ['node', '-e', script] });
    expect(output).toMatch(/EAI_AGAIN|ENOTFOUND/);
  });

  it('leads to listed hosts by the proxy, and the exit code of the program is kept', async () => {
    const server = createHttpServer((request, response) => response.end(`hello ${request.headers.host}`));
    await listen(server, 0);
    const host = `127.0.0.1:${portOf(server)}`;
    try {
      const network = { hosts: [host], privateHosts: [host] };
      const fetch = `const url = new URL(process.env.http_proxy);
        require('http').get({ host: url.hostname, port: url.port, path: process.argv[1] }, (r) => {
          r.on('data', (d) => console.log(r.statusCode, String(d).trim())); r.on('end', () => process.exit(7)); });`;
      const get = (url: string) => sandbox({ network }).run({ argv: ['node', '-e', fetch, url] });
      expect(await get(`http://${host}/`)).toMatchObject({ code: 7, output: `200 hello ${host}\n` });
      expect((await get('http://169.254.169.254/latest')).output).toContain(
        '403 169.254.169.254 is not among the hosts',
      );
      // Only the way through the proxy is there.
      const direct = await sandbox({ network }).run({
        argv: ['curl', '-sS', '--noproxy', '*', `http://${host}/`],
      });
      expect(direct.code).not.toBe(0);
    } finally {
      server.close();
    }
  });
});

describeWithBubblewrap('the limits', () => {
  it.each<[string, string, SandboxOptions['limits'], RegExp]>([
    [
      'a fork bomb',
      'f() { f | f & }; f; sleep 0.3; echo alive',
      { processes: 20 },
      /Cannot fork|Resource temporarily/,
    ],
    ['threads', 'node -e "setTimeout(() => {}, 100)"', { processes: 3 }, /./],
    [
      'memory',
      'node -e "const a = []; for (;;) a.push(Buffer.alloc(1e7, 1))"',
      { memory: 300 * MIB },
      /ERR_MEMORY|memory|allocation/i,
    ],
    ['a full /tmp', 'dd if=/dev/zero of=/tmp/x bs=1M count=20', { tmp: 8 * MIB }, /No space left/],
    ['full shared memory', 'dd if=/dev/zero of=/dev/shm/x bs=1M count=20', { tmp: 8 * MIB }, /No space left/],
    [
      'a file without end',
      'dd if=/dev/zero of=x bs=1M count=20',
      { fileSize: 8 * MIB },
      /File (too large|size limit exceeded)/i,
    ],
    ['many files', "node -e 'for (;;) require(`fs`).openSync(`/dev/null`)'", { openFiles: 64 }, /EMFILE/],
  ])('stop %s', async (_case, script, limits, said) => {
    const end = await shell(script, { limits: limits ?? {} });
    expect(end.output).toMatch(said);
    expect(end.survivors).toBe(0);
  });

  it('stop a loop without end', async () => {
    expect((await shell('while :; do :; done', { limits: { cpu: '1s' } })).code).toBe(137);
  });

  it('are not raised inside', async () => {
    const { output } = await shell('prlimit --nproc=4000:4000 true; prlimit --data=unlimited true', {});
    expect(output.match(/Operation not permitted/g)?.length).toBe(2);
  });

  it('cut what is written without end, and an abort ends it', async () => {
    const abort = new AbortController();
    let seen = 0;
    const more = {
      outputLimit: 2000,
      signal: abort.signal,
      onOutput: (text: string) => {
        seen += text.length;
        if (seen > MIB) abort.abort();
      },
    };
    const end = await shell('yes', {}, more);
    expect(end).toMatchObject({ signal: 'SIGKILL', survivors: 0, isHeld: false });
    expect(Buffer.byteLength(end.output)).toBeLessThanOrEqual(2000);
  });
});

describeWithBubblewrap('what a program leaves behind', () => {
  /** Leaves a `sleep`. Its number is made inside, so that no argument around it looks like it. */
  const daemon = (number: number): string => {
    const [seconds, part] = lasting(number).split('.');
    return `setsid sh -c '(env -i sleep ${seconds}.$((${Number(part) - 1}+1)) & )' & `;
  };

  it('ends with it, also in a session of its own, without its variables', async () => {
    const end = await shell(`${daemon(11)} sleep 0.2`);
    expect(end).toMatchObject({ code: 0, survivors: 0 });
    expect(running(lasting(11))).toEqual([]);
  });

  it('ends when it is aborted', async () => {
    const abort = new AbortController();
    const ending = shell(`trap "" TERM; ${daemon(12)} sleep 300`, {}, { signal: abort.signal });
    await untilRunning(lasting(12));
    abort.abort();
    expect(await ending).toMatchObject({ survivors: 0, isHeld: false });
    expect(running(lasting(12))).toEqual([]);
  });

  describe('a worker', () => {
    beforeAll(ensureBuilt);

    /** A process that runs one command in a sandbox, with a descriptor 40 that it inherited: Node closes only those up to the first gap. */
    const worker = (script: string) =>
      spawn(
        process.execPath,
        [
          '-e',
          `const { sandbox } = require(${JSON.stringify(join(packageRoot, 'lib', 'index.js'))});
           sandbox().run({ argv: ['sh', '-c', ${JSON.stringify(script)}] }).then(({ output }) => console.log(output));`,
        ],
        { stdio: ['ignore', 'pipe', 'inherit', ...new Array<'ignore'>(37).fill('ignore'), 'pipe'] },
      );

    it('that is killed takes it along', async () => {
      const child = worker(`${daemon(13)} sleep 300`);
      await untilRunning(lasting(13));
      child.kill('SIGKILL');
      await untilGone(lasting(13));
    });

    it('hands on no descriptor that it inherited', async () => {
      const child = worker('readlink /proc/self/fd/40');
      let output = '';
      child.stdout?.on('data', (chunk: Buffer) => void (output += chunk.toString()));
      await new Promise((resolve) => child.once('close', resolve));
      expect(output.trim()).toBe('/dev/null');
    });
  });
});

describeWithBubblewrap('a refusal', () => {
  const refused = async (options: SandboxOptions, cwd?: string): Promise<unknown> =>
    sandbox(options)
      .run({ argv: ['touch', join(work(), 'made')], ...(cwd === undefined ? {} : { cwd }) })
      .catch((error: unknown) => error);

  it.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'a folder that is missing',
      () => refused({ write: [join(work(), 'missing')] }),
      /missing of the sandbox: there is no such/,
    ],
    [
      'a folder to run in that is not shown',
      () => refused({ write: [work()] }, outside),
      /could not be made, so nothing ran/,
    ],
  ])('of %s proves that nothing ran', async (_case, run, message) => {
    const error = await run();
    expect(String(error)).toMatch(message);
    expect(provenBy(error)).toBe('nothing_done');
    expect(existsSync(join(work(), 'made'))).toBe(false);
  });

  (isRoot ? it : it.skip)('names what does not limit root, and takes that it need not', async () => {
    chownSync(work(), 0, 0);
    expect(String(await refused({ write: [work()] }))).toMatch(
      /does not limit `processes` \(Linux does not limit the processes of root.*allowUnlimited: \['processes'\]/,
    );
    expect(existsSync(join(work(), 'made'))).toBe(false);
    const box = sandbox({ write: [work()], allowUnlimited: ['processes'] });
    expect(await box.describe()).toContain('not limited here: processes');
    const script =
      'id -u; grep -E "^Cap(Eff|Bnd)" /proc/self/status; echo 1 > /proc/sys/kernel/core_pattern; cat /root/.profile';
    const { output } = await box.run({ argv: ['sh', '-c', script] });
    expect(output).toMatch(/^0\nCapEff:\t0+\nCapBnd:\t0+\n/);
    expect(output).toMatch(/Read-only file system[^]*No such file/);
  });

  it('without bubblewrap says what to install, and runs bare only where that is allowed', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = '/nowhere';
    try {
      expect(String(await refused({}))).toMatch(/there is no bubblewrap.*unsandboxed: true/);
      const bare = sandbox({ unsandboxed: true });
      expect(await bare.describe()).toMatch(/^WITHOUT a sandbox/);
      expect(await bare.run({ argv: ['echo', 'ran'] })).toMatchObject({ code: 0, output: 'ran\n' });
    } finally {
      process.env['PATH'] = path;
    }
  });
});

describe('options', () => {
  it.each<[string, SandboxOptions, RegExp]>([
    ['everything', { read: ['/'] }, /never shown/],
    ['sockets', { read: ['/run/docker.sock'] }, /never shown/],
    ['keys', { read: ['/etc/ssl/private'] }, /never shown/],
    ['the home', { read: ['/root', process.env['HOME'] ?? '/root'] }, /home of this user|listed twice/],
    ['homes', { write: [HOMES] }, HOMES === '/tmp' ? /sandbox's own/ : /home of this user|never shown/],
    ['the whole /tmp', { write: ['/tmp'] }, /sandbox's own/],
    ['the system to write', { write: ['/usr/local'] }, /belongs to the system/],
    ['a folder twice', { read: ['a'], write: ['./a'] }, /listed twice/],
    ['no host', { network: { hosts: [] } }, /network/],
    ['a host that is none', { network: { hosts: ['https://x'] } }, /`network.hosts`: .*names no host/],
    ['every name of a suffix', { network: { hosts: ['*.com'] } }, /whoever has a name/],
    ['a limit below one', { limits: { processes: 0 } }, /limits.processes/],
    ['a time that is none', { limits: { cpu: 'soon' } }, /not a time/],
  ])('refuse %s', (_case, options, message) => {
    expect(() => sandbox(options)).toThrow(message);
    expect(() => sandbox(options)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });

  it.each<[SandboxOptions, boolean]>([
    [{}, true],
    [{ read: ['a'] }, false],
    [{ write: ['a'] }, false],
    [{ network: { hosts: ['example.com'] } }, false],
    [{ unsandboxed: true }, false],
  ])('%j: closed is %s', (options, isClosed) => {
    expect(sandbox(options).isClosed).toBe(isClosed);
  });
});
