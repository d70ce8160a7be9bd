import type { JSX } from 'preact';
import type { Hunk } from '../../../contract/plan';
import { numbered } from '../../model/diff';
import { SeenEnd, SeenText } from '../../parts/seen';
import { Text } from '../../parts/text';

const WORDS: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed' };
/** A line longer than this takes a screen, so its parts count one by one. */
const LONG = 600;
/** One end is watched for this many lines: about a screen on a phone. */
const EVERY = 12;

/** The lines of a hunk with their numbers before and after. */
export function HunkLines({ hunk }: { hunk: Hunk }): JSX.Element {
  return (
    <table class="diff-lines">
      <tbody>
        {numbered(hunk).map(({ before, after, line }, index) => (
          <tr key={index} class={classOf(line)}>
            <td class="number">{before}</td>
            <td class="number">{after}</td>
            <LineCell line={line} isEnd={index % EVERY === EVERY - 1 || index === hunk.lines.length - 1} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The lines of a unified diff that came as text. */
export function DiffLines({ lines }: { lines: readonly string[] }): JSX.Element {
  return (
    <table class="diff-lines">
      <tbody>
        {lines.map((line, index) => (
          <tr key={index} class={/^(---|\+\+\+|@@)/.test(line) ? 'meta' : classOf(line)}>
            <LineCell line={line} isEnd={index % EVERY === EVERY - 1 || index === lines.length - 1} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LineCell({ line, isEnd }: { line: string; isEnd: boolean }): JSX.Element {
  const word = WORDS[line[0] ?? ''];
  return (
    <td class="line">
      {word !== undefined && <span class="sr-only">{word}: </span>}
      {line.length > LONG ? <SeenText of={line} layout="diff" /> : <Text of={line} layout="diff" />}
      {isEnd && <SeenEnd />}
    </td>
  );
}

function classOf(line: string): string {
  if (line.startsWith('+')) return 'added';
  if (line.startsWith('-')) return 'removed';
  return line.startsWith('\\') ? 'meta' : '';
}
