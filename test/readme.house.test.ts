import { accessSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { requestLines } from '../src/cli/print/request';
import { DAY } from '../src/contract/limits';
import { NOW, request, testScreen } from './cli/support';

const root = join(__dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const readme = read('README.md');

const PROMISE =
  'A call marked unsafe is started at most once per decision, or, where no decision is needed, once per request of the model. If we cannot prove whether it finished, we stop and ask; we never guess and never silently retry.';

it('makes the promise word for word', () => {
  expect(readme).toContain(`> ${PROMISE}`);
});

it('has at most 900 words', () => {
  expect(readme.split(/\s+/).filter((word) => word !== '').length).toBeLessThanOrEqual(900);
});

it('shows the tool of the page that goes on from it', () => {
  const [, tool = ''] =
    /^(const refund = defineTool\([^]*?^\}\);\n)/m.exec(read('docs/getting-started.md')) ?? [];
  expect(readme.replace(/ \/\/ waits until .*/, '')).toContain(`\nexport ${tool}`);
});

it('shows a request as it is shown', () => {
  const refund = request({
    tool: 'refund',
    arguments: { order: '1001', cents: 1500 },
    preview: { text: 'Pay 15.00 EUR back for order 1001' },
    seenDigest: '12e59a0ad0b5a98a'.repeat(4),
    deadline: new Date(NOW + 7 * DAY).toISOString(),
  });
  const lines = requestLines(refund, {
    turn: 'turn-0mx0hm7jopew8',
    screen: testScreen(90),
    now: NOW,
    story: {
      agent: 'support',
      asked: 'please refund order 1001',
      origin: { requester: 'ann' },
      says: 'The goods are back.',
    },
    command: (args) => `npx countersign ${args}`,
  });
  expect(readme).toContain(`\`\`\`\n${lines.join('\n')}\n\`\`\``);
});

it('goes on with the example as it is, in at most 25 lines', () => {
  const example = read('examples/my-agent.ts');
  expect(read('docs/getting-started.md')).toContain(`\`\`\`ts\n${example}\`\`\``);
  expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(25);
});

it('links only to what is there', () => {
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, path = '']) => path);
  for (const path of links) expect(() => readdirOrFile(path)).not.toThrow();
  expect(links.length).toBeGreaterThan(0);
});

function readdirOrFile(path: string): void {
  accessSync(join(root, path));
}

/** The names by which links name the headings of a page. */
const anchorsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-'),
  );

/** What an installed package has: links of its pages lead to nothing else. */
const packed: string[] = ['README.md', ...JSON.parse(read('package.json')).files];
const isPacked = (path: string): boolean => packed.some((one) => path === one || path.startsWith(`${one}/`));

const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => posix.join('docs', name))
  .concat('README.md', 'CONTRIBUTING.md', 'SECURITY.md');

it.each(pages)('links of %s lead to pages and headings that exist', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  const lost = links.filter(([, path = '', anchor]) => {
    const target = path === '' ? page : posix.join(posix.dirname(page), path);
    if (!existsSync(join(root, target)) || (isPacked(page) && !isPacked(target))) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor);
  });
  expect(lost.map(([link]) => link)).toEqual([]);
});
