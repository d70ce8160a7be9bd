import { leavesOf } from '../../contract/leaves';
import { countDeceiving } from '../../contract/visible';
import type { RequestOpened } from '../../history/events';

/** How many characters of what will run would deceive: those that do not show, and those that pass for others. */
export function deceivingIn({ arguments: args, preview }: RequestOpened): { hidden: number; alike: number } {
  const leaves = leavesOf(args).flatMap(({ path, value }) => [path, typeof value === 'string' ? value : '']);
  const counts = [...leaves, preview?.text ?? ''].map(countDeceiving);
  return {
    hidden: counts.reduce((sum, { hidden }) => sum + hidden, 0),
    alike: counts.reduce((sum, { alike }) => sum + alike, 0),
  };
}

/** The counts in words; empty where there is nothing to look at. */
export function deceivingWords({ hidden, alike }: { hidden: number; alike: number }): string {
  const words = [
    ...(hidden === 0 ? [] : [`${count(hidden, 'character')} that would not show`]),
    ...(alike === 0 ? [] : [`${count(alike, 'word')} with letters that pass for others`]),
  ];
  return words.join(' and ');
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
