import { accessSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const readme = read('README.md');

const PROMISE =
  'A call marked unsafe is started at most once per decision, or, where no decision is needed, once per request of the model. If we cannot prove whether it finished, we stop and ask; we never guess and never silently retry.';

it('makes the promise word for word', () => {
  expect(readme).toContain(`> ${PROMISE}`);
});

it('shows the example as it is, in at most 25 lines', () => {
  const example = read('examples/my-agent.ts');
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\``);
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
