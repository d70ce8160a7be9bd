import { approvalsNeeded } from './stricter-rule';
import { GROUP, isSameName, nameKey } from '../votes/names';
import { type FileContent, MOST_VOTERS, type ReadFile, type RuleContent } from './approvers-schema';
import type { Complain, YamlPath } from '../../system/yaml';
import { isDelegateAt } from '../votes/who-may-vote';

/** Checks people, their groups and delegates. */
export function checkPeople(
  { content: { people } }: ReadFile,
  groups: ReadonlySet<string>,
  complain: Complain,
): void {
  const taken = new Map<string, string>();
  const claim = (what: string, label: string, { by, path }: { by: string; path: YamlPath }) => {
    const owner = taken.get(what);
    if (owner !== undefined && owner !== by)
      complain(path, `${label} is that of ${owner}, too: one is one person's`);
    else if (owner === by && label !== 'this name') complain(path, `${label} is listed twice`);
    taken.set(what, by);
  };
  for (const [by, one] of Object.entries(people)) {
    const path = ['people', by];
    claim(`who ${nameKey(by)}`, 'this name', { by, path });
    if (groups.has(by)) complain(path, `'${by}' is a group, too; give one of them another name`);
    // A name and a mail both identify a person, so a mail must not be the name of somebody else.
    if (one.mail !== undefined && !isSameName(one.mail, by))
      claim(`who ${nameKey(one.mail)}`, 'this mail', { by, path: [...path, 'mail'] });
    if (one.oidc !== undefined) claim(`oidc ${one.oidc}`, 'this oidc', { by, path: [...path, 'oidc'] });
    if (one.slack !== undefined) claim(`slack ${one.slack}`, 'this slack', { by, path: [...path, 'slack'] });
    for (const [at, { name: to, from, until }] of one.delegates.entries()) {
      const place = [...path, 'delegates', at];
      if (to === by) complain(place, 'nobody is their own delegate');
      else if (!Object.hasOwn(people, to)) complain(place, `there is no person '${to}'`);
      if (from !== undefined && until !== undefined && Date.parse(until) <= Date.parse(from))
        complain([...place, 'until'], '`until` is not after `from`: the time has no moment');
    }
  }
  checkCircles(people, complain);
  checkSpelling(groups, people, complain);
}

/** Complains about delegates in a circle. Times that do not meet make none: two people may stand in for each other. */
function checkCircles(people: ReadFile['content']['people'], complain: Complain) {
  const all = Object.values(people).flatMap(({ delegates }) => delegates);
  const starts = all.map(({ from }) => (from === undefined ? -Infinity : Date.parse(from)));
  const told = new Set<string>();
  // A circle is whole for the first time when one of its delegates begins.
  for (const moment of new Set(starts))
    for (const circle of circlesAt(people, moment)) {
      const text = circle.join(' → ');
      if (!told.has(text))
        complain(['people', circle[0] ?? '', 'delegates'], `delegates in a circle: ${text}`);
      told.add(text);
    }
}

function circlesAt(people: ReadFile['content']['people'], moment: number) {
  const done = new Set<string>();
  const circles: string[][] = [];
  const walk = (name: string, trail: readonly string[]) => {
    if (trail.includes(name)) {
      const circle = [...trail.slice(trail.indexOf(name)), name];
      if (!circle.some((one) => done.has(one))) circles.push(circle);
      return;
    }
    if (done.has(name)) return;
    const next = Object.hasOwn(people, name) ? (people[name]?.delegates ?? []) : [];
    for (const one of next)
      if (one.name !== name && isDelegateAt(one, moment)) walk(one.name, [...trail, name]);
    done.add(name);
  };
  for (const name of Object.keys(people)) walk(name, []);
  return circles;
}

/** Complains about names of groups that differ only in case, or are listed twice. */
function checkSpelling(
  named: ReadonlySet<string>,
  people: ReadFile['content']['people'],
  complain: Complain,
) {
  const spelt = new Map<string, string>();
  for (const group of named) {
    const other = spelt.get(group.toLowerCase());
    if (other === undefined) spelt.set(group.toLowerCase(), group);
  }
  for (const [name, { groups }] of Object.entries(people))
    for (const [at, group] of groups.entries()) {
      const path = ['people', name, 'groups', at];
      const first = spelt.get(group.toLowerCase());
      if (first !== undefined && first !== group)
        complain(path, `'${group}' and '${first}' differ in case only: which is it?`);
      if (groups.indexOf(group) !== at) complain(path, `'${group}' is listed twice`);
    }
}

/** The file that is checked, the names of its groups, and the function that reports mistakes. */
interface AboutFile {
  file: ReadFile;
  named: ReadonlySet<string>;
  complain: Complain;
}

/** Checks that the people whom a rule names exist, and that enough of them may vote. */
export function checkRoster(rule: RuleContent, at: number, { file, named, complain }: AboutFile): void {
  const { people } = file.content;
  const path = ['rules', at];
  const members = (group: string) =>
    Object.keys(people).filter((name) => people[name]?.groups.includes(group));
  const who = (list: readonly string[], place: YamlPath): Set<string> => {
    const found = new Set<string>();
    for (const [index, entry] of list.entries()) {
      checkEntry(entry, [...place, index], { people, named, complain });
      const group = groupIn(entry);
      for (const name of group === undefined ? [entry] : members(group)) found.add(name);
    }
    return found;
  };
  if (rule.escalate !== undefined && who(rule.escalate.to, [...path, 'escalate', 'to']).size === 0)
    complain([...path, 'escalate', 'to'], 'nobody is in it');
  const { approvers } = rule;
  if (rule.then === 'refuse' || rule.then === 'run') {
    if (approvers !== undefined)
      complain([...path, 'approvers'], `nobody decides where a rule says \`${rule.then}\``);
    return;
  }
  const all =
    approvers?.any === undefined
      ? new Set(Object.keys(people))
      : who(approvers.any, [...path, 'approvers', 'any']);
  checkNumbers(rule, all, { path, complain, members, named });
}

function checkNumbers(
  { approvers, name }: RuleContent,
  all: ReadonlySet<string>,
  by: {
    path: YamlPath;
    complain: Complain;
    members: (group: string) => string[];
    named: ReadonlySet<string>;
  },
) {
  const { path, complain, members, named } = by;
  const place = approvers?.any === undefined ? path : [...path, 'approvers', 'any'];
  const need = approvalsNeeded({ need: approvers?.need ?? 1, groups: approvers?.groups ?? [] });
  if (all.size === 0) complain(place, `the roster of '${name}' is empty: nobody could decide`);
  else if (all.size < need) complain(place, `'${name}' needs ${need} people and only ${all.size} may vote`);
  if (all.size > MOST_VOTERS && approvers !== undefined)
    complain(place, `${all.size} people may vote; the most is ${MOST_VOTERS}`);
  for (const [index, group] of (approvers?.groups ?? []).entries()) {
    const at = [...path, 'approvers', 'groups', index];
    if (approvers?.groups?.indexOf(group) !== index) complain(at, `'${group}' is listed twice`);
    if (!named.has(group)) complain(at, `there is no group '${group}'`);
    else if (!members(group).some((one) => all.has(one)))
      complain(at, `nobody of the group '${group}' may vote`);
  }
}

/** The group that an entry of a list names. Undefined: the entry names a person. */
export function groupIn(entry: string): string | undefined {
  return entry.startsWith(GROUP) ? entry.slice(GROUP.length) : undefined;
}

/** Complains if the file has no person or group with the name of an entry. */
export function checkEntry(
  entry: string,
  path: YamlPath,
  {
    people,
    named,
    complain,
  }: Pick<FileContent, 'people'> & { named: ReadonlySet<string>; complain: Complain },
): void {
  const group = groupIn(entry);
  if (group !== undefined && !named.has(group)) complain(path, `there is no group '${group}'`);
  if (group === undefined && !Object.hasOwn(people, entry)) complain(path, `there is no person '${entry}'`);
}
