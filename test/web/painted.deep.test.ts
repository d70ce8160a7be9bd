import type { Page } from 'playwright-core';
import type { JsonObject } from '../../src/contract/json';
import { askUser } from '../../src/tools/builtin/ask-user';
import { TransportError } from '../../src/tools/errors';
import { recordTool } from '../support/effects';
import { planTool } from '../support/plan-tool';
import { decide, waitFor } from '../support/turns';
import { callPlace, listOnly, lookAtAll, styled, talkPlace } from './web-inbox';
import { expectNoComplaints, usePage } from './page-fixture';

/** What a browser draws in several ways, each long enough for several lines of a desktop's screen. */
const SCRIPTS: Record<string, string> = {
  accents: `cafe\u0301 ${'good morning to everybody '.repeat(12)}`,
  'stacked marks': `${'e\u0301\u0301\u0301 '.repeat(40)}${'a\u0323\u0302 and more '.repeat(12)}`,
  devanagari: 'क्षत्रिय हिन्दी में लिखा हुआ '.repeat(12),
  thai: 'ที่นี่มีน้ำและผู้ใหญ่ทั้งนั้น'.repeat(14),
  'pointed hebrew': 'שָׁלוֹם עֲלֵיכֶם '.repeat(14),
  arabic: 'مُحَمَّد رَسُول '.repeat(14),
  joiners: `${'👩‍👩‍👧‍👦 می‌خواهم a\u200db '.repeat(12)}`,
  'a long word': `nai\u0308ve${'x'.repeat(400)}`,
};
const NAMES = Object.keys(SCRIPTS);
const END = '; rm -rf /srv/END';
const VALUES = Object.values(SCRIPTS).map((text) => `${text}${END}`);
const ARGUMENTS = Object.fromEntries(
  VALUES.map((value, at) => [value.slice(0, 180) + END, `${at} ${value}`]),
);

const { web, start, book, fixture } = usePage('painted', (written) => [
  planTool(written),
  askUser(),
  recordTool(written, { name: 'run_plain', safety: 'dangerous', parameters: { type: 'object' } }),
  recordTool(written, {
    ...{ name: 'run_command', safety: 'dangerous', parameters: { type: 'object' } },
    preview: () => VALUES.join('\n'),
  }),
  recordTool(
    written,
    {
      name: 'break_off',
      safety: 'dangerous',
      parameters: { type: 'object' },
      preview: () => VALUES.join('\n'),
    },
    () => {
      throw new TransportError(VALUES.join('\n'));
    },
  ),
]);
expectNoComplaints(web);

const ask = async (name: string, args: JsonObject, text = VALUES.join('\n')): Promise<string> =>
  (await start([{ text, toolCalls: [{ name, arguments: args }] }])).workflowId;

/** A screen with all values. */
interface Screen {
  place: string;
  open?: (page: Page) => Promise<void>;
}
const screens: Record<string, Screen> = {};

beforeAll(async () => {
  const request = callPlace(await ask('run_command', ARGUMENTS));
  screens['request'] = { place: request };
  const lines = callPlace(await ask('propose_lines', { tag: `x${END}`, lines: VALUES }));
  screens['diff lines'] = { place: lines };
  const several = await Promise.all(
    ['one', 'two'].map((one) =>
      ask('run_command', Object.fromEntries(VALUES.map((value, at) => [`k${at}`, `${one} ${value}`]))),
    ),
  );
  screens['table of several'] = {
    place: `#/?agent=painted`,
    open: async (page) => {
      await listOnly(page, 'painted');
      for (const turn of several) await page.locator(`.row:has(a[href*="${turn}"]) input`).check();
      await page.getByRole('button', { name: 'Look at them' }).click();
      await page.getByRole('region', { name: 'Differences' }).waitFor();
    },
  };
  const doubt = await start([{ toolCalls: [{ name: 'break_off', arguments: ARGUMENTS }] }]);
  await decide(doubt, { callId: '1.1', decision: 'approved', approver: 'ann', reason: VALUES[0] ?? '' });
  await waitFor(doubt, '1.1', 'in_doubt');
  screens['doubt'] = { place: callPlace(doubt.workflowId) };
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      VALUES.map((value, at) => [
        `k${at}`,
        { type: 'string', title: value.slice(0, 180), description: value.slice(0, 180) + END },
      ]),
    ),
  };
  const question = await start(
    [{ toolCalls: [{ name: 'ask_user', arguments: { question: VALUES.join('\n'), schema } }] }],
    '1.1',
    'question',
  );
  screens['question'] = { place: callPlace(question.workflowId) };
  const over = await start([
    {
      text: VALUES.join('\n'),
      toolCalls: [{ name: 'run_command', arguments: { tag: VALUES.join('\n'), ...ARGUMENTS } }],
    },
  ]);
  await decide(over, { callId: '1.1', decision: 'approved', approver: 'ann', reason: VALUES[2] ?? '' });
  await over.result();
  screens['turn'] = {
    place: `#/turns/${over.workflowId}`,
    open: async (page) => {
      await page.getByRole('region', { name: 'Answer' }).waitFor();
      await page.getByRole('button', { name: /1\.1\s+run_command/ }).click();
    },
  };
  screens['timeline'] = {
    place: `#/turns/${over.workflowId}`,
    open: async (page) => {
      const slider = page.getByRole('slider', { name: 'Event' });
      await slider.focus();
      await page.keyboard.press('End');
      await page.keyboard.press('ArrowLeft');
      await page.locator('.moment-view .message').first().waitFor();
    },
  };
  const talk = web().client.session(`painted-${process.pid}`, {
    ...{ agent: 'painted', taskQueue: fixture().taskQueue },
  });
  await talk.send(book.add({ text: VALUES.join('\n') }));
  screens['conversation'] = { place: talkPlace(talk.id) };
  screens['decided call'] = { place: callPlace(over.workflowId) };
});

/**
 * The texts whose last character is not painted where it stands, and the number of texts. The titles that a line is too
 * short for lead to the whole.
 */
const LOOK = `(async () => {
  const isTitle = (element) =>
    element !== null && (getComputedStyle(element).textOverflow === 'ellipsis' && !element.matches('.clipped') || isTitle(element.parentElement));
  const rectOf = (node, at) => {
    const range = document.createRange();
    range.setEnd(node, at);
    for (let from = at - 1; from >= 0; from--) {
      range.setStart(node, from);
      const rect = [...range.getClientRects()].findLast(({ width }) => width > 0);
      if (rect !== undefined) return rect;
    }
  };
  const hitAtEnd = (node, at) => {
    const rect = rectOf(node, at);
    if (rect === undefined) return undefined;
    return { hit: document.elementFromPoint(rect.right - Math.min(2, rect.width / 2), rect.top + rect.height / 2) };
  };
  // To bring it into sight, all is laid out twice. Of two texts beside each other, the second is in sight with the first.
  const hitInSight = (node, parent, at) => {
    if (hitAtEnd(node, at)?.hit === parent) return { hit: parent };
    const end = document.createElement('span');
    node.after(end);
    end.scrollIntoView({ block: 'center' });
    end.remove();
    return hitAtEnd(node, at);
  };
  const walker = document.createTreeWalker(document.querySelector('.detail-pane, main'), NodeFilter.SHOW_TEXT);
  const missing = [];
  let values = 0;
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement;
    const text = node.data.trimEnd();
    if (text === '' || !parent.checkVisibility() || parent.closest('.sr-only, option, textarea, .bar-words') || isTitle(parent)) continue;
    const found = hitInSight(node, parent, text.length);
    if (found === undefined) continue;
    if (text.endsWith('END')) values++;
    if (found.hit !== parent) missing.push(text.slice(0, 30) + ' … ' + text.slice(-12) + ' in ' + parent.className + ' hides behind ' + found.hit?.className);
  }
  return { missing, values };
})()`;

test.each([390, 768, 1440])('the last character of every value is painted, %i px wide', async (width) => {
  const page = await web().tab('#/', { viewport: { width, height: 900 } });
  for (const [name, { place, open }] of Object.entries(screens)) {
    await page.goto(`${web().url}/${place}`);
    await open?.(page);
    await page.getByText(END).first().waitFor();
    const found = await page.evaluate<{ missing: string[]; values: number }>(LOOK);
    expect({ name, width, missing: found.missing }).toEqual({ name, width, missing: [] });
    expect({ name, isWhole: found.values > 0 }).toEqual({ name, isWhole: true });
  }
  await page.context().close();
});

test('what is not painted has not been seen, and nothing can be approved', async () => {
  const page = await web().tab();
  await styled(page, '.leaf dd bdo { clip-path: inset(0) }');
  const turn = await ask('run_plain', { command: `ls ${'x '.repeat(300)}${END}` });
  await page.goto(`${web().url}/${callPlace(turn)}`);
  await page.locator('.seen-part .seen-end').last().scrollIntoViewIfNeeded();
  await page.getByText('One part has not been in sight yet.').waitFor();
  expect(await page.locator('#approve').getAttribute('aria-disabled')).toBe('true');
  await page.keyboard.press('n');
  await styled(page, '');
  await page.locator('#approve[aria-disabled=false]').waitFor();
  await page.context().close();
});

test(`${NAMES.length} scripts can be approved once they were looked at`, async () => {
  const page = await web().tab(screens['request']?.place);
  await lookAtAll(page);
  await page.getByLabel('I looked at the marked characters').check();
  await page.locator('#approve[aria-disabled=false]').waitFor();
  await page.context().close();
});
