import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { source } from 'axe-core';
import type { Page } from 'playwright-core';
import type { Session } from '../../src/client';
import type { ScriptedStep } from '../../src/models/scripted';
import { askUser } from '../../src/tools/builtin/ask-user';
import { createWorkspaceTools } from '../../src/tools/workspace';
import { TransportError } from '../../src/tools/errors';
import { waitForEnd } from '../../src/testing';
import { recordTool } from '../support/effects';
import { decide, waitFor } from '../support/turns';
import { until } from '../support/until';
import { expectNoComplaints, usePage } from './page-fixture';
import { callPlace, listOnly, openAccount, signOut, talkPlace } from './web-inbox';

const AGENT = 'axe';
/** All that a theme changes is colours. */
const COLOURS = { runOnly: ['color-contrast', 'link-in-text-block'] };
/** A folder for a picture of each screen; none unless set. */
const SHOTS = process.env['COUNTERSIGN_SHOTS'];
/** How a screen is looked at; 320 by 256 pixels are 400 % of a small window. */
const LOOKS: readonly [name: string, media: object, widths: readonly number[], options: object][] = [
  ['light', { colorScheme: 'light' }, [1680, 1024, 390, 320], {}],
  ['dark', { colorScheme: 'dark' }, [1680, 390], COLOURS],
  ['forced', { forcedColors: 'active' }, [1024], COLOURS],
];

const root = mkdtempSync(join(tmpdir(), 'countersign-axe-'));
const { web, start, book, fixture, client } = usePage(AGENT, (effects) => [
  ...createWorkspaceTools({ root }),
  recordTool(effects, { name: 'pay', safety: 'dangerous' }),
  recordTool(effects, { name: 'look' }),
  askUser(),
  recordTool(effects, { name: 'wire', safety: 'dangerous' }, () => {
    throw new TransportError('the line broke');
  }),
]);
expectNoComplaints(web);

afterAll(() => rm(root, { recursive: true, force: true }));

/** Thirty small functions, each with a comment, a text and a number. */
const before = Array.from(
  { length: 30 },
  (_, n) =>
    `// Function ${n}.\nexport function f${n}(name: string) {\n  return 'value ${n}' + name + ${n};\n}\n`,
);
const EDITS = [1, 12, 28].map((n) => ({
  old_text: `  return 'value ${n}' + name + ${n};`,
  new_text: `  // Rounded.\n  return 'value ${n}' + name + Math.round(${n}.5);`,
}));

const FORM = {
  type: 'object',
  properties: { city: { type: 'string', title: 'City' }, late: { type: 'boolean', title: 'Late' } },
  required: ['city'],
};

const places: Record<string, string> = {};

beforeAll(async () => {
  await writeFile(join(root, 'code.ts'), before.join('\n'));
  const call = (name: string, args: object) => ({ name, arguments: JSON.parse(JSON.stringify(args)) });
  const asks = async (text: string, name: string, args: object) =>
    start([{ text, toolCalls: [call(name, args)] }]);
  const marked = { tag: 'to \u202e Ann and раypal', amount: 12, to: 'a\u200bb' };
  await Promise.all(
    ['bulk one', 'bulk two', 'many \u202e three'].map((tag, at) =>
      asks('I pay.', 'pay', { tag, amount: at }),
    ),
  );
  const question = await start(
    [{ toolCalls: [call('ask_user', { question: 'Which \u202e city?', schema: FORM })] }],
    '1.1',
    'question',
  );
  const [request, hunks, doubtful, past] = await Promise.all([
    asks('I pay now.', 'pay', marked),
    asks('I change three functions.', 'edit_file', { path: 'code.ts', edits: EDITS }),
    asks('I wire it.', 'wire', { tag: 'wire', amount: 3 }),
    start(
      [
        { text: 'I look first.', toolCalls: [call('look', { tag: 'a' }), call('look', { tag: 'b' })] },
        { text: 'Now I pay.', toolCalls: [call('pay', { tag: 'c', amount: 50 })] },
      ],
      '2.1',
    ),
  ]);
  await decide(doubtful, { callId: '1.1', decision: 'approved', approver: 'ann' });
  await decide(past, { callId: '2.1', decision: 'approved', approver: 'ann', reason: 'It is due.' });
  await Promise.all([waitFor(doubtful, '1.1', 'in_doubt'), waitForEnd(web().client, past.workflowId)]);
  const talk = async (id: string, ...steps: ScriptedStep[]): Promise<Session> => {
    const session = client().session(`axe-${id}-${randomUUID()}`, {
      agent: AGENT,
      taskQueue: fixture().taskQueue,
    });
    await session.send({ text: book.add(...steps), sender: 'раypal' });
    return session;
  };
  const [said, asked, over] = await Promise.all([
    talk('said', { text: 'An answer, \u202emarked.' }),
    talk('asked', { text: 'I pay.', toolCalls: [call('pay', marked)] }, { text: 'Paid.' }),
    talk('over', { text: 'The last answer.' }),
  ]);
  await asked.send({ text: 'and be quick', mode: 'steer', sender: 'bea' });
  await until('an answer', async () =>
    (await over.history()).turns.some(({ answer }) => answer !== undefined),
  );
  await over.close();
  const given = { by: 'раypal', times: 3, forMs: 600_000 };
  const { terms } = await client().grants.plan(request.workflowId, '1.1', given);
  await client().grants.give({ ...terms, reason: 'It is due each day.' });
  const change = { what: 'decision', decision: 'denied', approver: 'ann', reason: 'too much' } as const;
  const { turn: fork } = await web().client.fork({ turn: past.workflowId, at: '2.1', change });
  await waitForEnd(web().client, fork);
  Object.assign(places, {
    inbox: '#/',
    request: callPlace(request.workflowId),
    hunks: callPlace(hunks.workflowId),
    doubt: callPlace(doubtful.workflowId),
    closed: callPlace(past.workflowId, '2.1'),
    question: callPlace(question.workflowId),
    decided: '#/decided',
    refused: '#/refused',
    passkeys: '#/passkeys',
    grants: '#/grants',
    push: '#/push',
    turns: '#/turns',
    turn: `#/turns/${past.workflowId}`,
    waiting: `#/turns/${hunks.workflowId}`,
    fork: `#/turns/${fork}`,
    stats: '#/stats',
    conversations: `#/conversations?agent=${AGENT}`,
    said: talkPlace(said.id),
    asked: talkPlace(asked.id),
    over: talkPlace(over.id),
    begun: `${talkPlace('axe-new')}?agent=${AGENT}`,
    'no talk': talkPlace('axe-none'),
    nowhere: '#/no/such/place',
    gone: '#/turns/no-such-turn',
  });
});

/** A screen: where it is, and what is done there before a look at it. */
interface Screen {
  at: string;
  act: (page: Page) => Promise<void>;
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const visible = (selector: string) => (page: Page) => page.locator(selector).first().waitFor();

const SCREENS: Record<string, Screen> = {
  inbox: { at: 'inbox', act: (page) => listOnly(page, AGENT) },
  selected: {
    at: 'inbox',
    act: async (page) => {
      await listOnly(page, AGENT);
      const boxes = page.locator('.rows').getByRole('checkbox', { name: /^Select .* tag=(bulk|many)/ });
      for (const at of [0, 1, 2]) await boxes.nth(at).check();
      await button(page, 'Look at them').click();
      await page.locator('.differences td').first().waitFor();
    },
  },
  request: { at: 'request', act: visible('#approve') },
  grant: {
    at: 'request',
    act: async (page) => {
      await button(page, 'Approve and allow more …').click();
      await page.getByText(/^Allows axe to run/).waitFor();
    },
  },
  instead: {
    at: 'request',
    act: async (page) => {
      await button(page, /^Instead/).click();
      await page.locator('#instead').fill('Pay less.');
      await page.getByText('You said what to do instead').waitFor();
    },
  },
  question: { at: 'question', act: visible('#edit') },
  decided: {
    at: 'decided',
    act: async (page) => {
      await page.locator('#decided-by').selectOption('all');
      // The histories of the newest turns of a busy server are read.
      await page.locator('.of-decided li').first().waitFor({ timeout: 150_000 });
    },
  },
  refused: { at: 'refused', act: visible('#refused-title') },
  passkeys: { at: 'passkeys', act: visible('#passkeys-title') },
  push: { at: 'push', act: visible('#push-title') },
  grants: { at: 'grants', act: visible('.of-grants li') },
  edit: { at: 'request', act: (page) => button(page, /^Change/).click() },
  hunks: { at: 'hunks', act: visible('.syn-text') },
  doubt: { at: 'doubt', act: async (page) => page.getByRole('radio', { name: /^It happened/ }).check() },
  closed: { at: 'closed', act: visible('.outcome') },
  turns: { at: 'turns', act: visible('.turn-list li') },
  turn: { at: 'turn', act: async (page) => button(page, 'Open all').click() },
  'turn-past': { at: 'turn', act: async (page) => page.getByRole('slider', { name: 'Event' }).press('Home') },
  waiting: { at: 'waiting', act: visible('.picture-row') },
  'what-if': { at: 'turn', act: async (page) => button(page, 'What if … at 2.1').click() },
  fork: { at: 'fork', act: visible('.path') },
  stats: {
    at: 'stats',
    act: async (page) => {
      await page.getByLabel('Agent', { exact: true }).fill(AGENT);
      await page.keyboard.press('Enter');
      await page.locator('.stat-rows').first().waitFor({ timeout: 90_000 });
    },
  },
  conversations: { at: 'conversations', act: visible('.turn-list li') },
  conversation: { at: 'said', act: visible('.said.answer') },
  'conversation-asks': { at: 'asked', act: visible('.asked #approve') },
  'conversation-edit': {
    at: 'asked',
    act: async (page) => {
      await button(page, /^Change/).click();
      await page.locator('#edit').waitFor();
    },
  },
  'conversation-folded': {
    at: 'asked',
    act: async (page) => {
      await button(page, 'Fold up').click();
      await page.locator('.ask-row').waitFor();
    },
  },
  'conversation-over': { at: 'over', act: visible('text=takes no more messages') },
  'conversation-new': { at: 'begun', act: visible('#say') },
  'conversation-files': {
    at: 'begun',
    act: async (page) => {
      await page.locator('#say').fill('Look at these.');
      await page.locator('input[type=file]').setInputFiles(
        ['a.png', 'раypal \u202e txt.exe', `${'a long name '.repeat(12)}.csv`].map((name) => ({
          ...{ name, mimeType: 'text/plain', buffer: Buffer.from(`the bytes of ${name}`) },
        })),
      );
      await page.locator('.attached li').nth(2).waitFor();
      await until('the files', async () => (await page.locator('.attached progress').count()) === 0);
      await page.locator('input[type=file]').setInputFiles({
        ...{ name: 'nothing.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) },
      });
      await page.getByText('nothing.txt is empty, or a folder.').waitFor();
    },
  },
  'conversation-none': { at: 'no talk', act: visible('h1.pane-title') },
  nowhere: { at: 'nowhere', act: visible('h1') },
  gone: { at: 'gone', act: visible('h1') },
  keys: { at: 'inbox', act: (page) => page.keyboard.press('?') },
  account: { at: 'inbox', act: openAccount },
};

/** What axe finds wrong, by rule, with where it is. */
function findingsIn(page: Page, options: object = {}): Promise<string[]> {
  return page.evaluate<string[]>(`
    axe.run(document, { resultTypes: ['violations'], ...${JSON.stringify(options)} }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => [id, target.join(' '), failureSummary].join(' | '))))
  `);
}

describe('axe finds nothing', () => {
  let page: Page;
  const look = async (name: string): Promise<void> => {
    for (const [theme, media, widths, options] of LOOKS) {
      await page.emulateMedia({ forcedColors: 'none', reducedMotion: 'reduce', ...media });
      for (const width of widths) {
        await page.setViewportSize({ width, height: width === 320 ? 256 : 900 });
        if (SHOTS !== undefined) {
          mkdirSync(SHOTS, { recursive: true });
          writeFileSync(join(SHOTS, `${name}-${width}-${theme}.png`), await page.screenshot());
        }
        const found = await findingsIn(page, options);
        expect({ theme, width, found }).toEqual({ theme, width, found: [] });
      }
    }
  };

  beforeAll(async () => {
    page = await web().tab(undefined, { colorScheme: 'light', reducedMotion: 'reduce' });
    await page.evaluate(source);
  });
  afterAll(() => page.context().close());

  test.each(Object.entries(SCREENS))(
    '%s, in light, in dark, in forced colours and at 400 %%',
    async (name, { at, act }) => {
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', reducedMotion: 'reduce' });
      await page.setViewportSize({ width: 1680, height: 900 });
      // A screen starts anew, whatever the last one left.
      await page.goto(`${web().url}/#/turns`);
      await visible('.turn-list')(page);
      await page.goto(`${web().url}/${places[at] ?? ''}`);
      await act(page);
      expect(await page.title()).not.toMatch(/^(\(\d+\) )?Countersign$/);
      await look(name);
    },
  );

  test('sign-in', async () => {
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1680, height: 900 });
    await signOut(page);
    await page.getByLabel('Token').waitFor();
    await look('sign-in');
  });
});
