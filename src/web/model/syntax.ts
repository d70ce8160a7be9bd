import { type ShjLanguageData, type ShjToken, tokenizeWith } from '@speed-highlight/core/tokenize';
import bash from '@speed-highlight/core/languages/bash.js';
import c from '@speed-highlight/core/languages/c.js';
import css from '@speed-highlight/core/languages/css.js';
import docker from '@speed-highlight/core/languages/docker.js';
import go from '@speed-highlight/core/languages/go.js';
import java from '@speed-highlight/core/languages/java.js';
import js from '@speed-highlight/core/languages/js.js';
import json from '@speed-highlight/core/languages/json.js';
import py from '@speed-highlight/core/languages/py.js';
import rs from '@speed-highlight/core/languages/rs.js';
import sql from '@speed-highlight/core/languages/sql.js';
import toml from '@speed-highlight/core/languages/toml.js';
import ts from '@speed-highlight/core/languages/ts.js';
import xml from '@speed-highlight/core/languages/xml.js';
import yaml from '@speed-highlight/core/languages/yaml.js';
import type { DiffLine, Look } from './diff';

/** Languages, each with the extensions of its files. */
const LANGUAGES: readonly (readonly [unknown, string])[] = [
  [js, 'js jsx mjs cjs'],
  [ts, 'ts tsx mts cts'],
  [json, 'json jsonc json5'],
  [py, 'py pyi'],
  [css, 'css scss less'],
  [xml, 'xml svg html htm vue'],
  [yaml, 'yaml yml'],
  [toml, 'toml ini cfg conf properties'],
  [bash, 'sh bash zsh env'],
  [docker, 'dockerfile'],
  [go, 'go'],
  [rs, 'rs'],
  [java, 'java kt kts cs scala'],
  [c, 'c h cc cpp hpp'],
  [sql, 'sql'],
];

/** Languages inside others, by the names that grammars use for them. */
const WITHIN = Object.fromEntries(
  Object.entries<unknown>({ js, css, json, py }).filter((entry): entry is [string, ShjLanguageData] =>
    isLanguage(entry[1]),
  ),
);

/** The style for each kind of token. A token of any other kind looks like plain text. */
const LOOKS: Partial<Record<ShjToken, string>> = {
  kwd: 'syn-word',
  str: 'syn-text',
  num: 'syn-value',
  bool: 'syn-value',
  cmnt: 'syn-comment',
  func: 'syn-name',
  class: 'syn-name',
  type: 'syn-name',
  section: 'syn-name',
  var: 'syn-name',
};

function languageOf(path: string): ShjLanguageData | undefined {
  const ending = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('.')) + 1).toLowerCase();
  const language = LANGUAGES.find(([, endings]) => endings.split(' ').includes(ending))?.[0];
  return isLanguage(language) ? language : undefined;
}

/** Checks a language. The package's own types do not fit each other if an absent property may not be undefined. */
function isLanguage(value: unknown): value is ShjLanguageData {
  return typeof value === 'object' && value !== null;
}

/** How many lines before the first visible line are also read, because a comment or a string may have begun in them. */
const LINES_BEFORE = 40;
/**
 * The limits of a text that is coloured. The grammars are regular expressions, and a hostile text could keep one of
 * them busy. Within these limits, colouring takes milliseconds.
 */
const MOST = { text: 2_400, line: 300, blanks: /\s{60}/ };

/** The syntax of some lines of a diff, by line index. It only adds colours and never changes the text. */
export function syntaxOf(
  path: string,
  lines: readonly DiffLine[],
  { from, to }: { from: number; to: number },
): Map<number, Look[]> {
  const looks = new Map<number, Look[]>();
  const language = languageOf(path);
  if (language === undefined) return looks;
  const start = startOf(lines, from, to);
  const near = lines.slice(start, to).map((line, index) => ({ ...line, index: start + index }));
  for (const side of ['removed', 'added'] as const) {
    const text = near.filter(({ kind }) => kind === side || kind === 'same');
    colour(text, language, looks);
  }
  return looks;
}

/** The line from which to read, so that the text stays within the bounds. */
function startOf(lines: readonly DiffLine[], from: number, to: number) {
  const sizeOf = (index: number) => (lines[index]?.line.length ?? 0) + 1;
  let start = from;
  let size = 0;
  for (let index = from; index < to; index++) size += sizeOf(index);
  while (start > 0 && from - start < LINES_BEFORE && size + sizeOf(start - 1) <= MOST.text)
    size += sizeOf(--start);
  return start;
}

function colour(
  lines: readonly (DiffLine & { index: number })[],
  language: ShjLanguageData,
  looks: Map<number, Look[]>,
) {
  const source = lines.map(({ line }) => line.slice(1)).join('\n');
  if (source.length > MOST.text || MOST.blanks.test(source)) return;
  if (lines.some(({ line }) => line.length > MOST.line)) return;
  for (const { index } of lines) looks.set(index, []);
  let [row, column] = [0, 1];
  const take = (text: string, token?: ShjToken) => {
    const look = token === undefined ? undefined : LOOKS[token];
    for (const [at, part] of text.split('\n').entries()) {
      if (at > 0) [row, column] = [row + 1, 1];
      const from = column;
      column += part.length;
      const index = lines[row]?.index;
      if (look !== undefined && index !== undefined && part.trim() !== '')
        looks.get(index)?.push({ from, to: column, look });
    }
  };
  tokenizeWith(source, language, take, { languages: WITHIN });
}
