import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REFUSAL_CODES } from '../src/contract/decision';
import { ERROR_CODES } from '../src/contract/errors';
import { TOOL_ERROR_CODES } from '../src/contract/result';

const folder = join(__dirname, '..', 'docs', 'errors');
const codes = [...new Set<string>([...ERROR_CODES, ...TOOL_ERROR_CODES, ...REFUSAL_CODES])];

it.each(codes)('%s has a page that says what happened and what to do', (code) => {
  const page = readFileSync(join(folder, `${code}.md`), 'utf8');
  expect(page).toMatch(new RegExp(`^# \`${code}\`\n\n\\S[^]+\n## What to do\n\n\\S`));
});

it('has no page for a code that is gone', () => {
  expect(readdirSync(folder).sort()).toEqual(codes.map((code) => `${code}.md`).sort());
});
