import { openFullScreen } from '../../../src/cli/commands/inbox';

const open = (rows?: number) => {
  const written: string[] = [];
  const full = openFullScreen({ rows, write: (text: string) => written.push(text) });
  return { full, written };
};

describe('a terminal that is drawn on', () => {
  it('is a page of its own without a cursor, and as it was afterwards', () => {
    const { full, written } = open();
    full.close();
    expect(written).toEqual(['\x1b[?1049h\x1b[?25l', '\x1b[?25h\x1b[?1049l']);
  });

  it('is drawn over line by line, so that nothing flickers and nothing stays', () => {
    const { full, written } = open(5);
    full.draw(['one', 'two']);
    expect(written.at(-1)).toBe('\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J');
  });

  it.each([
    [3, ['a', 'b', 'c'], ['a', 'b', 'c']],
    [3, ['a', 'b', 'c', 'd'], ['a', 'b', '… 2 more lines; make the window higher, or filter']],
    [1, ['a', 'b'], ['a', '… 1 more lines; make the window higher, or filter']],
  ])('of %d rows counts what has no room', (rows, lines, drawn) => {
    const { full, written } = open(rows);
    full.draw(lines);
    expect(
      written
        .at(-1)
        ?.replace(/\x1b\[[HKJ]/g, '')
        .split('\r\n'),
    ).toEqual(drawn);
  });
});
