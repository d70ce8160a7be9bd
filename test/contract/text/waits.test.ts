import { needsText, waitsText } from '../../../src/contract/text/waits';

it.each([
  [{ approvals: 1, who: ['ben'] }, '1 more approval needed; ben may vote'],
  [
    { approvals: 2, groups: ['law', 'it'], who: [] },
    '2 more approvals needed, law and it to be heard; nobody else may vote',
  ],
])('says what %j is', (needs, words) => {
  expect(needsText(needs)).toBe(words);
});

it.each<[string, Parameters<typeof waitsText>[0], string | undefined]>([
  [
    'is on record',
    { status: 'recorded' },
    'Recorded: it takes effect if a worker takes it up before the deadline.',
  ],
  ['took effect', { status: 'accepted', verdict: {} }, undefined],
  [
    'is one vote',
    { status: 'accepted', verdict: { needs: { approvals: 1, who: [] } } },
    'It still waits: 1 more approval needed; nobody else may vote.',
  ],
  [
    'asks again',
    { status: 'accepted', verdict: { asksAgain: true } },
    'Nothing ran: it comes here again for a decision.',
  ],
])('says what a decision waits for that %s', (_case, answer, words) => {
  expect(waitsText(answer)).toBe(words);
});
