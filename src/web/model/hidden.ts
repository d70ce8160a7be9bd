import type { Deceiving } from '../../contract/deceiving';

/** The counts in words; empty where there is nothing to look at. */
export function deceivingWords({ hidden, alike }: Deceiving): string {
  const words = [
    ...(hidden === 0 ? [] : [`${count(hidden, 'character')} that would not show`]),
    ...(alike === 0 ? [] : [`${count(alike, 'word')} with letters that pass for others`]),
  ];
  return words.join(' and ');
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
