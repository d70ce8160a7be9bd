import fc from 'fast-check';
import { decideByEditor, documentOf, draftOf, readDocument } from '../../../src/cli/review/edit-arguments';
import type { Subject } from '../../../src/cli/review/decision';
import type { Terminal } from '../../../src/cli/review/terminal';
import type { Answer } from '../../../src/client';
import type { DecisionKind } from '../../../src/contract/decision';
import type { RequestOpened } from '../../../src/history/events';
import { AT, call, request, testScreen, turn } from '../support';
import type { Authority } from '../../../src/contract/authority';

const subject = ['t-1/1.1', 'pay'] as const;

describe('the file', () => {
  it('holds the arguments under a head that says what to do', () => {
    expect(documentOf(draftOf({ amount: 10 }), ...subject)).toBe(
      [
        '// Arguments of pay, t-1/1.1. Lines that start with // are left out.',
        '// Save and close to go on. To give up, leave the file as it is, or empty: nothing is decided then.',
        '{',
        '  "amount": 10',
        '}',
        '',
      ].join('\n'),
    );
  });

  it('says what did not fit, and keeps what was typed', () => {
    const issues = [
      { path: '/amount', message: 'must be at most 100\x1b[2J' },
      { path: '', message: 'no' },
    ];
    const text = documentOf({ body: '{"amount": 1000}\n', issues }, ...subject);
    expect(text).toContain(
      '// This does not fit:\n//   /amount: must be at most 100\\x1b[2J\n//   (all): no\n',
    );
    expect(text).toMatch(/\n\{"amount": 1000\}\n$/);
  });

  it('hides nothing', () => {
    expect(draftOf({ to: 'a\u202eb' }).body).toContain('"a\\u202eb"');
  });
});

describe('what is left in it', () => {
  it.each<[string, string, object]>([
    ['arguments', '// x\n{"a": 1}\n', { outcome: 'arguments', arguments: { a: 1 } }],
    [
      'a comment among them',
      '{\n  // why\n  "a": "// not one"\n}',
      { outcome: 'arguments', arguments: { a: '// not one' } },
    ],
    ['nothing', '', { outcome: 'empty' }],
    ['comments alone', '// x\n\n  // y\n', { outcome: 'empty' }],
  ])('%s', (_name, text, expected) => {
    expect(readDocument(text)).toMatchObject(expected);
  });

  it.each([
    ['no JSON', '{"a": }', '', /not JSON/],
    ['a list', '[1]', '', /one object/],
    ['null', 'null', '', /one object/],
    ['a number that is too large', '{"a": 1e999}', '/a', /too large/],
    ['a number that would become another', '{"a": [9007199254740993]}', '/a/0', /become 9007199254740992;/],
    ['a name that is there twice', '{"a": 1, "a": 2}', '/a', /twice/],
    ['a name that is a trap', '{"__proto__": {}}', '/__proto__', /not allowed/],
    ['half a character', '{"a": "\\udc00"}', '/a', /half a character/],
  ])('%s is shown with its place, and what was typed is kept', (_name, text, path, message) => {
    const edited = readDocument(`// old\n${text}`);
    expect(edited).toMatchObject({
      outcome: 'wrong',
      draft: { body: text, issues: [{ path, message: expect.stringMatching(message) }] },
    });
  });

  it('is what was given, whatever the arguments are', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string().filter((key) => key !== '__proto__'),
          fc.jsonValue(),
        ),
        (value) => {
          const args = JSON.parse(JSON.stringify(value));
          expect(readDocument(documentOf(draftOf(args), ...subject))).toMatchObject({
            outcome: 'arguments',
            arguments: args,
          });
        },
      ),
    );
  });
});

const RULE: Authority = {
  ...{ fileDigest: 'f', ruleDigest: 'r', requesters: [] },
  rule: {
    ...{ name: 'money', then: 'ask', rosters: [], need: 1, groups: [] },
    ...{ notRequester: false, denyNeeds: 1, assurance: 'claimed' },
  },
};

/** Changes 10 to 7 in the editor, and says yes to every question. */
async function changeAmount(shown: Partial<RequestOpened>, { asksAgain, isAsked = true }: Change) {
  const screen = testScreen();
  const questions: string[] = [];
  const sent: string[] = [];
  const next = request({ ...shown, eventId: 20, arguments: { amount: 7, to: 'ann' } });
  const terminal: Pick<Terminal, 'ask' | 'release'> = {
    ask: async (question) => (questions.push(question), 'y'),
    release: () => undefined,
  };
  const never = (): never => {
    throw new Error('not expected here');
  };
  const subject: Subject = {
    client: {
      decide: async (_turn, { decision }) => {
        sent.push(decision);
        return acceptedAs(decision, asksAgain && decision === 'modified');
      },
      view: async () => turn([call({ request: next })]),
      ...{ answer: never, resolve: never },
    },
    ...{ turn: 't-1', agent: 'clerk', call: call({ request: request(shown) }), said: { approver: 'ann' } },
    context: { screen, env: { ...process.env, VISUAL: '', EDITOR: 'sed -i s/10/7/' } },
  };
  const typed: Terminal = { ...terminal, meanwhile: (work) => work };
  const answer = await decideByEditor(subject, { terminal: isAsked ? typed : undefined, yes: false });
  return { answer, questions, sent, printed: screen.printed.join('\n') };
}

interface Change {
  asksAgain: boolean;
  isAsked?: boolean;
}

function acceptedAs(decision: DecisionKind, again: boolean): Answer {
  const verdict = { decisionId: 'd', callId: '1.1', decision, approver: 'ann', at: AT };
  return {
    status: 'accepted',
    verdict: { accepted: true, ...verdict, ...(again ? { asksAgain: true } : {}) },
  };
}

describe('a change at the terminal', () => {
  it.each<[string, Partial<RequestOpened>, boolean, string[]]>([
    ['of a call with neither preview nor rule', {}, false, ['Approve with these changes [y,n,e,?]? ']],
    [
      'of a call with a preview',
      { preview: { text: 'pays' } },
      true,
      ['See what it does with these changes [y,n,e,?]? ', 'Approve t-1/1.1 pay like this? [y/N] '],
    ],
    [
      'of a call under a rule, without a preview',
      { authority: RULE },
      true,
      ['See it again with these changes [y,n,e,?]? ', 'Approve t-1/1.1 pay like this? [y/N] '],
    ],
  ])('%s says what a yes does', async (_, shown, asksAgain, expected) => {
    const { questions, sent, printed } = await changeAmount(shown, { asksAgain });
    expect(questions).toEqual(expected);
    expect(sent).toEqual(asksAgain ? ['modified', 'approved'] : ['modified']);
    expect(printed.includes('with your changes:')).toBe(asksAgain);
  });

  it('needs no second look where nobody can be asked and only the arguments are shown', async () => {
    const { sent } = await changeAmount({ authority: RULE }, { asksAgain: true, isAsked: false });
    expect(sent).toEqual(['modified', 'approved']);
  });

  it('leaves a new preview to be approved where nobody can be asked', async () => {
    const shown = { preview: { text: 'pays' } };
    await expect(changeAmount(shown, { asksAgain: true, isAsked: false })).rejects.toMatchObject({
      code: 'still_waiting',
    });
  });
});
