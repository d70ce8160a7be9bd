import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build';

/** The README and the pages of docs/, without those of errors. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('errors'))
    .map((name) => `docs/${name}`),
];

const examplePages: readonly string[] = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `examples/${name}/README.md`);

/** A fenced block of a page; `number` counts from 1 within its language. */
export interface Snippet {
  page: string;
  number: number;
  text: string;
}

/** The text of a page. */
export const readPage = (page: string): string => readFileSync(join(root, page), 'utf8');

/** All blocks of one language. */
export const snippetsOf = (language: string, from = pages): Snippet[] =>
  from.flatMap((page) =>
    [...readPage(page).matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(
      ([, text = ''], index) => ({ page, number: index + 1, text }),
    ),
  );

/** One line that a reader is told to type, and where. */
export interface DocCommand {
  line: string;
  pages: string;
}

/** Every line of every shell block, of the examples too. */
export const docCommands = (): DocCommand[] => {
  const found = new Map<string, Set<string>>();
  for (const { page, text } of snippetsOf('sh', [...pages, ...examplePages])) {
    for (const line of text.split('\n').filter((one) => one.trim() !== ''))
      found.set(line, (found.get(line) ?? new Set()).add(page));
  }
  return [...found].map(([line, on]) => ({ line, pages: [...on].join(', ') }));
};
