import type { Intent } from './intent';
import { whereOf, type Where } from './place';
import type { Phrase } from './phrase';

/** A text and the place behind it. */
interface Placed {
  text: string;
  /** Undefined: no place was named. */
  where: Where | undefined;
}

/**
 * `X with Y in PLACE` or `X in PLACE with Y`; without a place, in all files. A place begins at the first unquoted "in", so
 * that a text with an "in" needs quotes: what is guessed wrong here would be written to files.
 */
export function parseReplace(rest: Phrase): Intent | undefined {
  const body = rest.without('all', 'every', 'each', 'occurrences', 'occurrence', 'of', 'the', 'text', 'word');
  const joint = body.find('with', 'by', 'to');
  const from = joint < 1 ? undefined : placedOf(body.slice(0, joint));
  const to = joint < 1 ? undefined : placedOf(body.slice(joint + 1));
  if (from === undefined || to === undefined || from.text === '') return undefined;
  if (from.where !== undefined && to.where !== undefined) return undefined;
  const where = from.where ?? to.where ?? { all: true };
  return { kind: 'replace', from: from.text, to: to.text, ...('all' in where ? {} : where) };
}

function placedOf(words: Phrase): Placed | undefined {
  const at = words.find('in', 'under', 'inside', 'everywhere');
  const text = (at === -1 ? words : words.slice(0, at)).text();
  const where = at === -1 ? undefined : whereOf(words.slice(at));
  if (text === undefined || (at !== -1 && where === undefined)) return undefined;
  return { text, where };
}
