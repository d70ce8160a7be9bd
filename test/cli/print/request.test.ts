import { argumentLines } from '../../../src/cli/print/arguments';
import { diffLines, previewLines } from '../../../src/history/preview-lines';
import { doubtLines, hiddenIn, proposalLines, requestLines } from '../../../src/cli/print/request';
import { createStyle } from '../../../src/cli/print/screen';
import { widthOf } from '../../../src/contract/text/columns';
import type { DecisionMade, InDoubtOpened } from '../../../src/history/events';
import type { Json } from '../../../src/contract/json';
import { AT, call, NOW, proposal, request, testScreen } from '../support';

const style = createStyle(false);
const place = (width = 100) => ({
  turn: 't-1',
  screen: testScreen(width),
  now: NOW,
  command: (args: string) => `cs ${args}`,
});

describe('arguments', () => {
  it('hide nothing below 200 levels', () => {
    let value: Json = 'rm -rf /';
    for (let depth = 0; depth < 200; depth++) value = { a: value };
    expect(argumentLines({ deep: value }, testScreen()).join('')).toContain('rm -rf /');
  });

  it.each<[string, Record<string, Json>, string[]]>([
    ['short values', { path: 'a.txt', n: 3, empty: '' }, ['path   a.txt', 'n      3', 'empty  ""']],
    ['text of lines', { text: 'one\ntwo' }, ['text', '│ one', '│ two']],
    ['no arguments', {}, ['(none)']],
    ['controls', { a: '\x1b[2J', 'b\x07': 1 }, ['a      \\x1b[2J', 'b\\x07  1']],
    ['a long name', { [`n${'a'.repeat(30)}`]: 1, b: 2 }, [`n${'a'.repeat(30)}`, '   1', 'b  2']],
  ])('print %s', (_name, args, lines) => {
    expect(argumentLines(args, testScreen())).toEqual(lines);
  });

  it('print all of a long value', () => {
    const text = 'x'.repeat(500);
    expect(argumentLines({ text }, testScreen(40)).join('').replace(/[^x]/g, '')).toHaveLength(500 + 1);
  });
});

describe('a preview', () => {
  it('numbers the hunks of a plan', () => {
    expect(previewLines(proposal().preview ?? { text: '' }, style)).toEqual([
      '--- a.txt',
      '+++ a.txt',
      '@@ -1,1 +1,1 @@ hunk 1',
      '-a',
      '+b',
      '@@ -1,1 +1,1 @@ hunk 2',
      '-a',
      '+b',
    ]);
  });

  it.each<[string, string[], string[]]>([
    ['trailing blanks', ['-a', '+a  '], ['-a', '+a··']],
    ['line ends of Windows', ['-a', '+a\r'], ['-a', '+a\\r']],
    [
      'a missing newline',
      ['-a', '+a', '\\ No newline at end of file'],
      ['-a', '+a', '\\ No newline at end of file'],
    ],
    ['controls', ['+\x1b[2J'], ['+\\x1b[2J']],
  ])('makes %s visible', (_name, lines, shown) => {
    const hunk = { id: '1', oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines };
    const plan = { path: 'a', baseHash: 'x', targetHash: 't', encoding: 'utf8' as const, hunks: [hunk] };
    expect(previewLines({ text: '', plan }, style).slice(3)).toEqual(shown);
  });

  it.each<[string, string, string[]]>([
    ['a command', 'rm -rf build\nin .', ['rm -rf build', 'in .']],
    ['a diff in text', '--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n', ['--- a', '+++ b', '@@ -1 +1 @@', '-x', '+y']],
  ])('of %s is its text', (_name, text, lines) => {
    expect(previewLines({ text }, style)).toEqual(lines);
  });

  it('colours a diff, and only a diff', () => {
    const color = createStyle(true);
    expect(diffLines('-a\n+b\n c\n', color)).toEqual(['\x1b[31m-a\x1b[39m', '\x1b[32m+b\x1b[39m', ' c']);
    expect(previewLines({ text: '- a list\n+ of text' }, color)).toEqual(['- a list', '+ of text']);
  });
});

describe('a request', () => {
  it('tells what will run and how to decide', () => {
    expect(requestLines(request(), place())).toEqual([
      'request  t-1/1.1  pay',
      'safety   dangerous; started at most once per decision',
      'expires  never',
      'arguments:',
      '  amount  10',
      '  to      ann',
      'decide:',
      '  cs approve t-1/1.1 --saw 0123456789abcdef0123456789abcdef',
      '  cs deny t-1/1.1 --reason "…"',
    ]);
  });

  it('promises nothing about a call that a workflow of its own runs', () => {
    const text = requestLines(request({ unowned: true }), place())
      .slice(1, 3)
      .join(' ')
      .replaceAll(/ +/g, ' ');
    expect(text).toBe(
      'safety dangerous; a second run would do harm; the workflow that asks runs it, and may start it more than once',
    );
  });

  it('offers single hunks where there are several', () => {
    expect(requestLines(proposal(), place())).toContain('  cs approve t-1/1.1 --hunks 1');
  });

  it('offers only a denial where the tool has changed, because an approval would be refused', () => {
    const changed = [{ callId: '1.1', now: 'changed' as const }];
    const text = requestLines(request(), { ...place(), changed }).join('\n');
    expect(text).toContain('cs deny t-1/1.1');
    expect(text).not.toContain('cs approve');
  });

  it('tells why policy asks, what the model wanted, and when it expires', () => {
    const asked = request({
      policyReason: 'over 5',
      notes: ['/to: a text is read as JSON', 'checked by the server only: x'],
      proposed: { amount: 99 },
      edit: { approver: 'ann', reason: 'too much' },
      deadline: '2026-11-21T13:00:00.000Z',
    });
    const text = proposalLines(asked, place()).join('\n');
    expect(text).toContain('policy   over 5');
    expect(text).toContain('notes    /to: a text is read as JSON; checked by the server only: x');
    expect(text).toContain('expires  in 60 min');
    expect(text).toContain('against what was asked for:\n  amount: 99 → 10\n');
    expect(text).toContain('changed  by ann: too much');
  });

  it('does not set what the model wrote against defaults that were filled in', () => {
    const text = proposalLines(request({ proposed: {} }), place()).join('\n');
    expect(text).not.toContain('against what');
  });

  it('shows a diff once, and the other arguments after it', () => {
    const edits = [{ old_text: 'a', new_text: 'b' }];
    const asked = proposal({ arguments: { path: 'a.txt', edits, note: 'x' } });
    const lines = proposalLines(asked, place());
    expect(lines.slice(lines.indexOf('arguments:'))).toEqual([
      'arguments:',
      '  path  a.txt',
      '  note  x',
      '  2 more values that the diff shows',
    ]);
    expect(lines.indexOf('what it does:')).toBeLessThan(lines.indexOf('arguments:'));
  });

  it('names the server that has the tool', () => {
    expect(proposalLines(request({ server: 'files' }), place())).toContain('server   files');
    expect(proposalLines(request(), place()).join('\n')).not.toContain('server');
  });

  it('warns of what does not show', () => {
    const asked = request({ arguments: { to: 'a\u202eb\u200b' } });
    expect(hiddenIn(asked)).toBe(2);
    expect(proposalLines(asked, place())).toContain(
      'look twice: 2 characters would not show and stand here as marks',
    );
  });

  it('cuts nothing of 250 KB', () => {
    const text = `${'a\n'.repeat(125_000)}rm -rf /`;
    const lines = proposalLines(request({ arguments: {}, preview: { text } }), place());
    expect(lines.slice(-3)).toEqual(['  rm -rf /', 'arguments:', '  (none)']);
    expect(lines.length).toBeGreaterThan(125_000);
  });

  it('fits into 40 columns, but for commands, which are copied', () => {
    const lines = proposalLines(
      request({ arguments: { text: 'word '.repeat(40), a_rather_long_name: 1 } }),
      place(40),
    );
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(40);
  });
});

describe('a call in doubt', () => {
  it('tells what is known and each way out', () => {
    const doubt: InDoubtOpened = {
      type: 'in_doubt',
      eventId: 9,
      at: AT,
      callId: '1.1',
      callKey: 'key',
      tool: 'pay',
      message: 'the worker was lost\x1b[2J',
      partial: 'half',
      summary: '1.1 pay',
    };
    const approved: DecisionMade = {
      ...{ type: 'decision', eventId: 7, at: AT, callId: '1.1', decision: 'approved', approver: 'ann' },
      ...{
        channel: 'web',
        authenticated: true,
        door: 'update',
        identity: 'i',
        judgement: { accepted: true },
      },
    };
    const asked = request({ preview: { text: 'pays 10' } });
    const inDoubt = call({ phase: 'in_doubt', request: asked, doubt, settledBy: approved, startedAt: AT });
    const text = doubtLines(inDoubt, place()).join('\n');
    expect(text).toMatch(/started +2026-11-2\d \d\d:\d\d:\d\d UTC.*, now/);
    expect(text).toMatch(/approved by +ann \(signed in\), 2026-/);
    expect(text).toContain('key:0 (idempotency key');
    expect(text).toContain('what it does:\n  pays 10');
    expect(text).toContain('the worker was lost\\x1b[2J');
    expect(text).toContain('known so far:\n  half');
    for (const outcome of ['happened', 'did-not', 'run-again']) {
      expect(text).toContain(`cs resolve t-1/1.1 ${outcome} --reason "…"`);
    }
  });
});
