import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import { approversOfLine, type CountedVote, rosterOf } from '../../../src/authority/signatures/roster-lines';
import { newSigner } from '../../support/ssh';

const [dora, xena, inbox] = [newSigner('ssh-ed25519'), newSigner('ssh-ed25519'), newSigner('ssh-ed25519')];
const FILE = parseApprovers(
  `installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
inboxKeys: ['${inbox.line}']
people:
  dora: { groups: [finance], mail: dora@example.com, keys: ['${dora.line}'] }
  xena: { keys: ['${xena.line}'] }
rules: [{ name: default, then: by_safety }]
`,
  'approvers.yaml',
);
const [doras, xenas] = [FILE.keysOf('dora')[0]?.fingerprint, FILE.keysOf('xena')[0]?.fingerprint];
const inboxes = FILE.inboxKeys[0]?.fingerprint;
const VOTE: CountedVote = { decisionId: 'd', voter: 'xena', fingerprint: undefined };
const PERSON = { person: 'dora', mail: 'dora@example.com' };
const keyOf = (line: string) => ({ decisionId: 'd', ...PERSON, groups: ['finance'], line });

it.each<[string, CountedVote[], object | undefined]>([
  ['nothing', [], undefined],
  ['nothing of a claim', [VOTE], undefined],
  ['nothing of a key that the file does not have', [{ ...VOTE, fingerprint: 'other' }], undefined],
  [
    'the key of a vote',
    [{ ...VOTE, fingerprint: xenas }],
    { lines: [{ decisionId: 'd', person: 'xena', groups: [], line: xena.line }] },
  ],
  [
    'the key of the web inbox, of a person with a mail address',
    [{ ...VOTE, voter: 'dora', fingerprint: inboxes }],
    { lines: [keyOf(inbox.line)] },
  ],
])('says what votes were checked by: %s', (_what, votes, expected) => {
  const { installation, digest: fileDigest } = FILE;
  const whole = expected === undefined ? undefined : { installation, fileDigest, ...expected };
  expect(rosterOf(FILE, votes)).toEqual(whole);
});

it('knows one person by a line, by name and by mail address', () => {
  const known = approversOfLine(keyOf(dora.line));
  expect(['DORA', 'dora@example.com', 'xena'].map((name) => known?.personOf(name))).toEqual([
    'dora',
    'dora',
    undefined,
  ]);
  expect(known?.keysOf('dora').map(({ fingerprint }) => fingerprint)).toEqual([doras]);
  expect(approversOfLine(keyOf('ssh-ed25519 x'))).toBeUndefined();
});
