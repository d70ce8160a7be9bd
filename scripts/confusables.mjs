/**
 * Writes src/contract/text/confusables.ts: the code points that Unicode's own data (UTS 39) takes for ASCII.
 * `node scripts/confusables.mjs [file]`; without a file it reads the list from unicode.org.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { at, say } from './root.mjs';

const SOURCE = 'https://www.unicode.org/Public/security/16.0.0/confusables.txt';
const ASCII = /^[!-~]+$/;

const read = async (file) => {
  if (file !== undefined) return readFileSync(file, 'utf8');
  const response = await fetch(SOURCE);
  if (!response.ok) throw new Error(`${SOURCE} answers ${response.status}`);
  return response.text();
};

const textOf = (codes) => String.fromCodePoint(...codes.split(' ').map((code) => parseInt(code, 16)));

/** Code points whose prototype is ASCII. What normalization makes ASCII is left out: every engine knows it. */
const pointsOf = (list) =>
  list
    .split('\n')
    .map((line) => line.split('#')[0].split(';', 2))
    .filter(([from, to]) => to !== undefined && /^[0-9A-F]+$/.test(from.trim()))
    .map(([from, to]) => [textOf(from.trim()), textOf(to.trim())])
    .filter(([from, to]) => ASCII.test(to) && !ASCII.test(from) && !ASCII.test(from.normalize('NFKC')))
    .map(([from]) => from.codePointAt(0))
    .sort((a, b) => a - b);

const main = async () => {
  const list = await read(process.argv[2]);
  const version = /^# Version: (\S+)$/m.exec(list)?.[1] ?? 'unknown';
  const points = pointsOf(list);
  const steps = points.map((point, n) => (point - (points[n - 1] ?? 0)).toString(36)).join(' ');
  const code = `// Written by scripts/confusables.mjs from confusables.txt of Unicode ${version}; do not edit.

const STEPS =
  '${steps}';

/** Code points that pass for ASCII by Unicode's data (UTS 39), but for those that normalize to it: as in [ ] of a RegExp. */
export const CONFUSABLES = classOf(STEPS);

function classOf(steps: string): string {
  let point = 0;
  return steps.replace(/\\w+ ?/g, (step) => {
    point += parseInt(step, 36);
    return \`\\\\u{\${point.toString(16)}}\`;
  });
}
`;
  writeFileSync(at('src', 'contract', 'text', 'confusables.ts'), code);
  say(`${points.length} code points of Unicode ${version}`);
};

main().catch((error) => {
  say(error.message);
  process.exitCode = 1;
});
