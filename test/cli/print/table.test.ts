import { factLines, section, tableLines } from '../../../src/cli/print/table';
import { createStyle } from '../../../src/cli/print/screen';
import { widthOf } from '../../../src/contract/text/columns';

const style = createStyle(false);
const table = {
  head: ['CALL', 'WHAT', 'TEXT'],
  rows: [
    [{ text: 'turn-1/1.1' }, { text: 'request' }, { text: 'write_file path=a.txt content=something long' }],
    [{ text: 't/2' }, { text: 'in doubt' }, { text: '東京' }],
  ],
  flex: 2,
};

describe('a table', () => {
  it('aligns its columns and cuts nothing on a pipe', () => {
    expect(tableLines(table, { width: Infinity, style })).toEqual([
      'CALL        WHAT      TEXT',
      'turn-1/1.1  request   write_file path=a.txt content=something long',
      't/2         in doubt  東京',
    ]);
  });

  it('cuts the column that gives way', () => {
    expect(tableLines(table, { width: 50, style })[1]).toBe(
      'turn-1/1.1  request   write_file path=a.txt conte…',
    );
  });

  it.each([20, 30, 40, 41, 60, 80])('fits into %d columns', (width) => {
    for (const line of tableLines(table, { width, style })) expect(widthOf(line)).toBeLessThanOrEqual(width);
  });

  it('becomes blocks where there is no room, and loses nothing', () => {
    expect(tableLines(table, { width: 30, style })).toEqual([
      'call  turn-1/1.1',
      'what  request',
      'text  write_file path=a.txt',
      '      content=something long',
      '',
      'call  t/2',
      'what  in doubt',
      'text  東京',
    ]);
  });

  it('leaves columns out before the last one says too little', () => {
    expect(tableLines({ ...table, drop: [1] }, { width: 50, style })).toEqual([
      'CALL        TEXT',
      'turn-1/1.1  write_file path=a.txt content=somethi…',
      't/2         東京',
    ]);
  });

  it('pads before it colours', () => {
    const rows = [[{ text: 'a', paint: (text: string) => `<${text}>` }, { text: 'b' }]];
    expect(tableLines({ head: ['LONG', 'X'], rows, flex: 1 }, { width: 80, style })[1]).toBe('<a>     b');
  });
});

describe('facts', () => {
  it('align their values and wrap them under themselves', () => {
    const facts = [
      ['a', { text: 'one' }],
      ['longer', { text: 'two three four five' }],
    ] as const;
    expect(factLines(facts, { width: 20, style })).toEqual([
      'a       one',
      'longer  two three',
      '        four five',
    ]);
  });

  it('leave out what has no value, and take text alone as one', () => {
    expect(
      factLines(
        [
          ['a', 'one'],
          ['longer', undefined],
        ],
        { width: 80, style },
      ),
    ).toEqual(['a  one']);
  });
});

test.each<[string, string[], string[]]>([
  ['lines', ['one', '', 'two'], ['name:', '  one', '', '  two']],
  ['no lines', [], []],
])('a section of %s', (_case, lines, shown) => {
  expect(section('name', lines, { width: 80, style })).toEqual(shown);
});
