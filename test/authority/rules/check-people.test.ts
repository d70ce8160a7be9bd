import { parseApprovers } from '../../../src/authority/rules/approvers-file';

const HEAD = `installation: ${'ab'.repeat(16)}\n`;
const PEOPLE = `people:
  anna: { groups: [finance], mail: Anna@example.com }
  bob: { groups: [finance, leads] }
`;
const RULES = `rules:
  - name: large refunds
    tools: [refund_order]
    when: args.cents > 50000
    then: ask
    approvers: { any: ['group:finance'], need: 2, notRequester: true }
    escalate: { after: 1h, to: ['group:leads'] }
  - name: no looking
    tools: [look]
    then: refuse
`;
const DEFAULT = '  - name: default\n    then: by_safety\n';
const GOOD = HEAD + PEOPLE + RULES + DEFAULT;
const withPeople = (people: string): string =>
  `${HEAD}people:\n${people}${RULES.replace('need: 2, ', '')}${DEFAULT}`;

const read = (text: string): unknown => parseApprovers(text, 'approvers.yaml');

it('takes a file in which all whom a rule names exist, and enough of them may vote', () => {
  expect(() => read(GOOD)).not.toThrow();
});

it('takes two people who are delegates of each other one after the other', () => {
  const people = `  anna: { groups: [finance, leads], delegates: [{ name: bob, until: 2026-12-24 }] }
  bob: { delegates: [{ name: anna, from: 2026-12-25 }] }
`;
  expect(() => read(withPeople(people))).not.toThrow();
});

describe('refuses', () => {
  it.each<[string, string, string]>([
    [
      'a roster of nobody',
      GOOD.replace('people:', 'groups: { board: later }\npeople:').replace(
        `['group:finance']`,
        `['group:board']`,
      ),
      ":11:23: the roster of 'large refunds' is empty",
    ],
    [
      'too few people',
      GOOD.replace('need: 2', 'need: 3'),
      `:10:23: 'large refunds' needs 3 people and only 2 may vote`,
    ],
    [
      'a group that there is none of',
      GOOD.replace(`'group:finance'`, `'group:finanse'`),
      `:10:25: there is no group 'finanse'`,
    ],
    [
      'a person that there is none of',
      GOOD.replace(`'group:finance'`, `carl, bob, anna`),
      `:10:24: there is no person 'carl'`,
    ],
    [
      'people who decide what is refused',
      GOOD.replace('then: refuse', 'then: refuse\n    approvers: { any: [bob] }'),
      ':15:16: nobody decides',
    ],
    [
      'a circle of delegates',
      withPeople(
        `  anna: { groups: [finance, leads], delegates: [bob] }\n  bob: { delegates: [carl] }\n  carl: { delegates: [anna] }\n`,
      ),
      'delegates in a circle: anna → bob → carl → anna',
    ],
    [
      'a circle of delegates at one time',
      withPeople(
        `  anna: { groups: [finance, leads], delegates: [{ name: bob, until: 2026-12-24 }] }\n  bob: { delegates: [{ name: anna, from: 2026-12-24 }] }\n`,
      ),
      'delegates in a circle: anna → bob → anna',
    ],
    [
      'a delegate whose time ends before it begins',
      withPeople(
        `  anna: { groups: [finance, leads], delegates: [{ name: bob, from: 2026-12-24, until: 2026-12-23 }] }\n  bob: {}\n`,
      ),
      ':3:87: `until` is not after `from`',
    ],
    [
      'a delegate whose time is one moment',
      withPeople(
        `  anna: { groups: [finance, leads], delegates: [{ name: bob, from: '2026-12-24T08:00:00Z', until: '2026-12-24T09:00:00+01:00' }] }\n  bob: {}\n`,
      ),
      ':3:100: `until` is not after `from`',
    ],
    [
      'a day that there is none of',
      withPeople(
        `  anna: { groups: [finance, leads], delegates: [{ name: bob, from: 2026-02-30 }] }\n  bob: {}\n`,
      ),
      ':3:68: `people.anna.delegates.0.from` must be a day such as 2026-12-24',
    ],
    [
      'a field of a delegate that there is none of',
      withPeople(
        `  anna: { groups: [finance, leads], delegates: [{ name: bob, to: 2026-12-24 }] }\n  bob: {}\n`,
      ),
      'has no field `to`',
    ],
    [
      'a delegate of a form that is none',
      withPeople(`  anna: { groups: [finance, leads], delegates: [7] }\n  bob: {}\n`),
      ':3:49: `people.anna.delegates.0` is wrong: expected object',
    ],
    [
      'ones own delegate',
      withPeople(`  anna: { groups: [finance, leads], delegates: [anna] }\n`),
      ':3:49: nobody is their own delegate',
    ],
    [
      'a delegate that there is none of',
      withPeople(`  anna: { groups: [finance, leads], delegates: [carl] }\n`),
      `:3:49: there is no person 'carl'`,
    ],
    [
      'one mail of two people',
      withPeople(
        `  anna: { groups: [finance, leads], mail: a@example.com }\n  bob: { mail: A@Example.com }\n`,
      ),
      ':4:16: this mail is that of anna, too',
    ],
    [
      'two names that differ in case',
      withPeople(`  anna: { groups: [finance, leads] }\n  Anna: { groups: [] }\n`),
      ':4:9: this name is that of anna, too',
    ],
    [
      'two groups of one name',
      withPeople(`  anna: { groups: [finance, leads] }\n  bob: { groups: [Finance] }\n`),
      `:4:19: 'Finance' and 'finance' differ in case only`,
    ],
    [
      'an escalation to nobody',
      GOOD.replace('people:', 'groups: { board: later }\npeople:').replace(
        `['group:leads']`,
        `['group:board']`,
      ),
      ':12:32: nobody is in it',
    ],
    [
      'a group of which nobody may vote',
      GOOD.replace(`need: 2`, `groups: [leads, board]`).replace(
        'people:',
        'groups: { board: later }\npeople:',
      ),
      `: nobody of the group 'board' may vote`,
    ],
    [
      'a group that is to be heard twice',
      GOOD.replace(`need: 2`, `groups: [leads, leads]`),
      `: 'leads' is listed twice`,
    ],
  ])('%s', (_name, text, message) => {
    const reading = (): unknown => read(text);
    expect(reading).toThrow(message);
    expect(reading).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});
