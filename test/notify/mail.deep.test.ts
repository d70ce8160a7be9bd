import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMail } from '../../src/notify/mail';
import { createOutbox, type NoticeOutbox } from '../../src/notify/outbox';
import { openSent } from '../../src/notify/sent';
import { scratchDirectory } from '../support/scratch';
import { NOW } from '../cli/support';
import { type MailServer, startMailServer } from './mail-server';
import { never, notice } from './support';
import { needs } from '../support/parts';

type MailSettings = Parameters<typeof createMail>[0];

needs('openssl');

const directory = scratchDirectory();
const PEOPLE = ['ann@example.org', 'bob@example.org'];

let server: MailServer;
let settings: MailSettings;
const notes: string[] = [];

/** What the server shows, and who vouches for it: itself. */
let shown: { key: string; cert: string };

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', ...made, '-keyout', key, '-out', cert, ...name], { stdio: 'ignore' });
  shown = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  notes.length = 0;
  server = await startMailServer(shown);
  settings = {
    url: `smtp://me:s3cret%26%40@127.0.0.1:${server.port}`,
    ...{ tls: 'required', ca: shown.cert, from: 'bot@example.org', page: 'https://inbox.example.org' },
    targetsOf: () => Promise.resolve(PEOPLE),
  };
});
afterEach(() => server.close());

const open = async (extra: Partial<MailSettings> = {}): Promise<NoticeOutbox> =>
  createOutbox({
    receiver: createMail({ ...settings, ...extra }),
    channel: 'mail',
    sent: await openSent(join(directory(), 'sent.json')),
    note: (line) => void notes.push(line),
    signal: never,
  });
const taken = (): string[] => server.mails.flatMap(({ to }) => to);

it('sends each person a mail of their own, encrypted, once', async () => {
  expect(await (await open()).send([notice('a')], NOW)).toBe(0);
  expect(await (await open()).send([notice('a')], NOW)).toBe(0);
  expect(taken()).toEqual(PEOPLE);
  expect(new Set(server.mails.map(({ id }) => id)).size).toBe(2);
  const [first] = server.mails;
  expect(first?.from).toBe('bot@example.org');
  expect(first?.text).toMatch(/^Subject: =\?UTF-8\?Q\?Approve=3F_a_=C2=B7_pay_=28clerk=29\?=\r$/m);
  expect(first?.text).toMatch(/^Auto-Submitted: auto-generated\r$/m);
  expect(first?.text).not.toContain('bob@');
});

it('lets no name of a tool or an agent begin a header', async () => {
  const evil = { ...notice('a').data, tool: 'x\r\nBcc: eve@example.org', agent: 'y\nTo: <eve@example.org>' };
  await (await open()).send([{ ...notice('a'), data: evil }], NOW);
  expect(taken()).toEqual(PEOPLE);
  for (const { text } of server.mails) {
    const [head = ''] = text.split('\r\n\r\n');
    expect(head.split('\r\n').filter((line) => /^(bcc|cc):/i.test(line))).toEqual([]);
    expect(head.split('\r\n').filter((line) => /^to:/i.test(line))).toHaveLength(1);
  }
});

it('tries a greylisting server again with the same Message-ID, and only for whom it was', async () => {
  const outbox = await open();
  server.script(451, 0);
  expect(await outbox.send([notice('a')], NOW)).toBe(1);
  expect(taken()).toEqual(['bob@example.org']);
  expect(notes).toContainEqual(expect.stringMatching(/wants the mail later: 451 .*again in 1 s/));
  expect(await outbox.send([notice('a')], NOW + 1000)).toBe(0);
  expect(taken()).toEqual(['bob@example.org', 'ann@example.org']);
});

it('leaves a server alone that refuses a recipient for good, and sends to the other', async () => {
  const outbox = await open();
  server.script(550, 0);
  expect(await outbox.send([notice('a')], NOW)).toBe(1);
  expect(await outbox.send([notice('a')], NOW + 3_599_000)).toBe(1);
  expect(taken()).toEqual(['bob@example.org']);
  expect(notes).toContainEqual(expect.stringMatching(/refused the mail: 550 .*again in 3600 s/));
  expect(await outbox.send([notice('a')], NOW + 3_600_000)).toBe(0);
});

it('repeats a mail that was taken but not written down with the same Message-ID', async () => {
  const mail = createMail(settings);
  for (const _ of [1, 2]) await mail.deliver(notice('a'), never, 'ann@example.org');
  expect(server.mails).toHaveLength(2);
  expect(new Set(server.mails.map(({ id }) => id)).size).toBe(1);
});

it('does not give a wrong password again and again, and does not repeat it', async () => {
  const outbox = await open({ url: settings.url.replace('s3cret', 'wr0ng') });
  expect(await outbox.send([notice('a'), notice('b')], NOW)).toBe(2);
  expect(await outbox.send([notice('a'), notice('b')], NOW + 60_000)).toBe(2);
  expect(server.logins).toEqual(['me']);
  expect(notes).toEqual([expect.stringMatching(/refused the user or the password \(535\); again in 900 s/)]);
  expect(notes.join()).not.toMatch(/wr0ng/);
});

it('waits for a server that is down', async () => {
  const { port } = server;
  await server.close();
  const outbox = await open();
  expect(await outbox.send([notice('a')], NOW)).toBe(1);
  expect(notes[0]).toMatch(/could not be reached/);
  expect(notes.join()).not.toMatch(/s3cret/);
  server = await startMailServer(shown, port);
  expect(await outbox.send([notice('a')], NOW + 60_000)).toBe(0);
  expect(taken()).toEqual(PEOPLE);
});

it('sends nothing to a server whose certificate nobody vouches for', async () => {
  const { ca: _, ...rest } = settings;
  const receiver = createMail(rest);
  await expect(receiver.deliver(notice('a'), never, 'ann@example.org')).rejects.toThrow(/certificate/);
  expect([server.mails, server.logins]).toEqual([[], []]);
});

it('sends nothing where the TLS that the address names is not spoken', async () => {
  const outbox = await open({ url: settings.url.replace('smtp:', 'smtps:') });
  expect(await outbox.send([notice('a')], NOW)).toBe(1);
  expect([server.mails, server.logins]).toEqual([[], []]);
});

it('gives no password to a server without TLS, unless the file says so', async () => {
  await server.close();
  const { port } = server;
  server = await startMailServer(
    { hideSTARTTLS: true, disabledCommands: ['STARTTLS'], allowInsecureAuth: true },
    port,
  );
  expect(await (await open()).send([notice('a')], NOW)).toBe(1);
  expect([server.mails, server.logins]).toEqual([[], []]);
  expect(await (await open({ tls: 'none' })).send([notice('a')], NOW)).toBe(0);
  expect(server.logins).toEqual(['me', 'me']);
});

it('is checked without a mail', async () => {
  expect(await createMail(settings).check?.(never)).toBe('127.0.0.1 takes mail from this user');
  expect(server.mails).toEqual([]);
  const wrong = createMail({ ...settings, url: settings.url.replace('s3cret', 'wr0ng') });
  await expect(wrong.check?.(never)).rejects.toThrow(/refused the user or the password/);
});

it('ends when the watching does', async () => {
  const stop = new AbortController();
  stop.abort();
  await expect(createMail(settings).deliver(notice('a'), stop.signal, 'ann@example.org')).rejects.toThrow(
    /was stopped/,
  );
});

it.each(['', 'mail.example.org', 'http://u:s3cret@h', 'smtp://u:s3cret@h?secure=false', 'smtp://'])(
  'refuses the address %j without repeating it',
  (url) => {
    const read = (): unknown => createMail({ ...settings, url });
    expect(read).toThrow(/cannot be read/);
    expect(read).not.toThrow(/s3cret/);
  },
);
