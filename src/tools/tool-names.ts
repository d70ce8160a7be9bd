/**
 * Whether a name fits a pattern, in which `*` stands for any number of letters. Takes linear time: each part of the
 * pattern is searched once, from left to right.
 */
export function fitsPattern(pattern: string, name: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (!name.startsWith(head)) return false;
  const tail = rest.pop();
  if (tail === undefined) return name === head;
  let from = head.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return name.length - tail.length >= from && name.endsWith(tail);
}

const MOST_NEAR = 3;

/** The names that are similar to a wanted name, the nearest first; three at most. */
export function nearNames(wanted: string, names: Iterable<string>): string[] {
  const most = Math.max(2, Math.floor(wanted.length / 3));
  return [...new Set(names)]
    .map((name) => ({ name, edits: editsBetween(wanted, name, most) }))
    .filter(({ edits }) => edits <= most)
    .sort((one, other) => one.edits - other.edits || (one.name < other.name ? -1 : 1))
    .slice(0, MOST_NEAR)
    .map(({ name }) => name);
}

/** `; near it: a, b` for the end of a message; empty if no name is near. */
export function nearHint(wanted: string, names: Iterable<string>): string {
  const near = nearNames(wanted, names);
  return near.length === 0 ? '' : `; near it: ${near.join(', ')}`;
}

/** The number of letters to add, remove or replace (Levenshtein). Above `most`, the result is `most` + 1. */
function editsBetween(one: string, other: string, most: number) {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
    if (Math.min(...above) > most) return most + 1;
  }
  return above[other.length] ?? 0;
}
