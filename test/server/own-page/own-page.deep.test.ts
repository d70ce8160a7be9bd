import { createServer, type Server } from 'node:http';
import { readFile, rm, mkdtemp } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { startWeb, type RunningWeb } from '../../../src/server';
import { createUsers } from '../../../src/server/auth/users';
import { askUser } from '../../../src/tools/builtin/ask-user';
import { useAgent } from '../../support/agent-fixture';
import { openBrowser } from '../../support/browser';
import { lib, root } from '../../support/build';
import { recordTool } from '../../support/effects';
import { runOnNode22 } from '../../support/node22';
import { runs } from '../../support/properties';

const AGENT = 'own-page-clients';
const { book, fixture, client, effects } = useAgent(AGENT, (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
  askUser(),
]);

const EXAMPLE = join(root, 'examples', 'own-page');
let directory: string;
let shop: Server;
let web: RunningWeb;
let token: string;
let browser: Browser;

const originOf = ({ port }: Pick<AddressInfo, 'port'>): string => `http://127.0.0.1:${port}`;
const addressOf = (server: Server): AddressInfo => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens');
  return address;
};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-own-page-'));
  await build({
    ...{ entryPoints: [join(EXAMPLE, 'page.jsx')], outfile: join(directory, 'page.js') },
    ...{ bundle: true, format: 'esm', jsx: 'automatic', logLevel: 'error' },
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  shop = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://shop');
    const name = pathname === '/' ? 'index.html' : pathname.slice(1);
    const types: Record<string, string> = {
      '.js': 'text/javascript',
      '.css': 'text/css',
      '.html': 'text/html',
    };
    readFile(join(name === 'page.js' ? directory : EXAMPLE, name)).then(
      (bytes) => response.setHeader('content-type', types[extname(name)] ?? 'text/plain').end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  const usersFile = join(directory, 'users.json');
  token = await createUsers(usersFile).add('ann', ['converse']);
  web = await startWeb({
    ...{ client: client(), usersFile, port: 0, localUser: 'owner', version: '1.2.3', pageDir: lib('web') },
    refusalsFile: join(directory, 'refusals.jsonl'),
    allowOrigins: [originOf(addressOf(shop))],
    onLink: () => undefined,
    report: (error) => void process.stderr.write(String(error)),
  });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await web.stop();
  shop.close();
  await rm(directory, { recursive: true, force: true });
});

const pays = (...tags: string[]) =>
  book.add(
    { text: 'I pay.', toolCalls: tags.map((tag) => ({ name: 'pay', arguments: { tag } })) },
    { text: 'That is all.' },
  );

test('what is written of recorded histories is what the official clients read, wherever a stream is cut', async () => {
  const printed = await runOnNode22(
    'server/own-page/histories.mjs',
    process.env['COUNTERSIGN_SEED'] ?? '1',
    String(runs(5)),
  );
  expect(Number(/^(\d+) looks/.exec(printed)?.[1])).toBeGreaterThan(200);
}, 300_000);

const texts = z.array(z.string());
const chat = z.object({
  before: z.unknown(),
  again: z.unknown(),
  after: z.unknown(),
  error: z.string().optional(),
});
const report = z.object({
  ...{ approved: texts, edited: texts, denied: texts, answered: texts },
  two: z.object({ open: texts, refused: z.string(), status: z.number(), left: texts, texts }),
  moved: z.object({ first: texts, other: texts, open: z.array(texts) }),
  resumed: z.object({ answers: texts, open: texts, first: texts, other: texts }),
  ...{ chatApproved: chat, chatDenied: chat, chatLeft: z.unknown() },
});

test('the official clients approve, edit, deny and answer, and come back to what they left', async () => {
  const prompts = {
    ...{
      approve: pays('as-it-is'),
      edit: pays('to-edit'),
      deny: pays('never-a'),
      two: pays('mine', 'theirs'),
    },
    ...{ moved: pays('moved'), resumed: pays('resumed') },
    ...{ chat: pays('by-chat'), chatNo: pays('never-b'), chatLeft: pays('left') },
    question: book.add(
      { toolCalls: [{ name: 'ask_user', arguments: { question: 'Which size?' } }] },
      { text: 'thanks' },
    ),
  };
  const query = `?taskQueue=${fixture().taskQueue}`;
  const settings = { url: web.url, token, agent: AGENT, query, thread: `c-${randomUUID()}`, prompts };
  const printed = await runOnNode22('server/own-page/clients.mjs', JSON.stringify(settings));
  const found = report.parse(JSON.parse(printed));
  const [asked, paid] = ['assistant: I pay.', 'assistant: That is all.'];
  expect(found.approved).toEqual([`user: ${prompts.approve}`, asked, 'tool: pay did as-it-is', paid]);
  expect(found.edited.slice(1)).toEqual([asked, expect.stringContaining('edited-here'), paid]);
  expect(found.denied.slice(1)).toEqual([asked, expect.stringContaining('too dear'), paid]);
  expect(found.answered.slice(1)).toEqual([
    ...['assistant: ', expect.stringContaining('large'), 'assistant: thanks'],
  ]);
  expect(found.two).toMatchObject({
    ...{ open: ['/1.1', '/1.2'], status: 200, left: ['/1.1'] },
    refused: expect.stringContaining('not addressed by resume'),
    texts: [`user: ${prompts.two}`, asked, 'tool: pay did theirs'],
  });
  const open = [['/1.1'], ['/1.1']];
  const same = [`user: ${prompts.moved}`, asked];
  expect(found.moved).toEqual({ first: same, other: same, open });
  const all = [`user: ${prompts.resumed}`, asked, 'tool: pay did resumed', paid];
  expect(found.resumed).toEqual({
    ...{ answers: ['refused', 'not_open', 'not_open'], open: ['/1.1'] },
    ...{ first: all, other: all },
  });
  const waits = ['assistant', 'I pay.', 'approval-requested'];
  expect(found.chatApproved).toEqual({
    before: [['user', prompts.chat], waits],
    again: [waits],
    after: [
      ['user', prompts.chat],
      ['assistant', 'I pay.', 'output-available', 'That is all.'],
    ],
  });
  expect(found.chatDenied.after).toEqual([
    ['user', prompts.chatNo],
    ['assistant', 'I pay.', 'output-denied', 'That is all.'],
  ]);
  expect(found.chatLeft).toEqual([['assistant', 'I pay.', 'output-available', 'That is all.']]);
  const lines = await effects.lines();
  expect(lines.sort()).toEqual([
    ...['pay as-it-is', 'pay by-chat', 'pay edited-here', 'pay left', 'pay resumed', 'pay theirs'],
  ]);
}, 300_000);

describe('the example page', () => {
  const complaints: string[] = [];

  const openPage = async (kind: 'AG-UI' | 'useChat'): Promise<Page> => {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(60_000);
    page.on('pageerror', ({ message }) => void complaints.push(message));
    await page.goto(`${originOf(addressOf(shop))}/?taskQueue=${fixture().taskQueue}`);
    await signIn(page, kind);
    return page;
  };
  const signIn = async (page: Page, kind: string): Promise<void> => {
    await page.getByLabel('Web inbox').fill(web.url);
    await page.getByLabel('Agent').fill(AGENT);
    await page.getByLabel('Token').fill(token);
    await page.getByLabel('Client').selectOption(kind);
    await page.getByRole('button', { name: 'Open' }).click();
  };
  const write = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  };

  test('approves as it is by AG-UI', async () => {
    const page = await openPage('AG-UI');
    await write(page, pays('plain-yes'));
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('That is all.').waitFor();
    expect(await effects.lines('plain-')).toEqual(['pay plain-yes']);
    expect(complaints).toEqual([]);
  });

  test('approves with changes and denies by AG-UI, from another origin, after a reload too', async () => {
    const page = await openPage('AG-UI');
    await write(page, pays('page-edit'));
    const wrong = page.getByLabel('Arguments');
    await wrong.fill('{"tag": 7}');
    await page.getByRole('button', { name: 'Approve with changes' }).click();
    await page.getByRole('alert').waitFor();
    await page.reload();
    await signIn(page, 'AG-UI');
    await page.getByLabel('Arguments').fill('{"tag": "page-edited"}');
    await page.getByRole('button', { name: 'Approve with changes' }).click();
    await page.getByText('That is all.').waitFor();
    await write(page, pays('page-never'));
    await page.getByLabel('Reason').fill('not today');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('not today').waitFor();
    expect(await effects.lines('page-')).toEqual(['pay page-edited']);
    expect(complaints).toEqual([]);
  });

  test('approves and denies by useChat', async () => {
    const page = await openPage('useChat');
    await write(page, pays('hook-yes'));
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('That is all.').waitFor();
    await write(page, pays('hook-no'));
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('That is all.').nth(1).waitFor();
    expect(await effects.lines('hook-')).toEqual(['pay hook-yes']);
    expect(complaints).toEqual([]);
  });
});
