import { EVERYTHING, type Permit } from './permits';
import { checkEntry, groupIn } from './check-people';
import type { FileContent, ReadFile } from './approvers-schema';
import type { Complain, YamlPath } from '../../system/yaml';

/**
 * Returns the permit of a person. `person` is the name in the file, or undefined for somebody who is not in the file.
 */
type Permits = (person: string | undefined) => Permit;

/** Works out the roles and the visible agents of all people once. */
export function permitsOf({ people, roles, visibility }: FileContent): Permits {
  const isIn = (list: readonly string[] | undefined, name: string) =>
    list?.some((entry) => isOf(entry, name, people)) === true;
  const permit = (name: string): Permit => {
    const isAdmin = isIn(roles?.admins, name);
    const role = roles === undefined || isAdmin ? 'admin' : isIn(roles.viewers, name) ? 'viewer' : 'approver';
    return { role, agents: visibility === undefined || isAdmin ? 'all' : agentsOf(name) };
  };
  const agentsOf = (name: string): Permit['agents'] => {
    const lists = Object.entries(visibility ?? {}).flatMap(([entry, agents]) =>
      isOf(entry, name, people) ? [agents] : [],
    );
    if (lists.includes('all')) return 'all';
    return [...new Set(lists.flat())].sort();
  };
  const known = new Map(Object.keys(people).map((name) => [name, permit(name)]));
  const stranger: Permit = {
    role: roles === undefined ? EVERYTHING.role : 'viewer',
    agents: visibility === undefined ? 'all' : [],
  };
  return (person) => (person === undefined ? undefined : known.get(person)) ?? stranger;
}

function isOf(entry: string, name: string, people: FileContent['people']) {
  const group = groupIn(entry);
  return group === undefined ? entry === name : people[name]?.groups.includes(group) === true;
}

/** Checks `roles` and `visibility`. The file does not list agents, so every name of an agent is accepted. */
export function checkPermits({ content }: ReadFile, named: ReadonlySet<string>, complain: Complain): void {
  const { people, roles, visibility = {} } = content;
  const about = { people, named, complain };
  const checkOnce = (list: readonly string[], path: YamlPath) => {
    for (const [at, entry] of list.entries())
      if (list.indexOf(entry) !== at) complain([...path, at], `'${entry}' is listed twice`);
  };
  const namesIn = (list: readonly string[]) =>
    Object.keys(people).filter((name) => list.some((entry) => isOf(entry, name, people)));
  const { admins = [], viewers = [] } = roles ?? {};
  for (const [role, list] of Object.entries({ admins, viewers })) {
    checkOnce(list, ['roles', role]);
    for (const [at, entry] of list.entries()) checkEntry(entry, ['roles', role, at], about);
  }
  if (roles !== undefined && namesIn(admins).length === 0)
    complain(['roles', 'admins'], 'nobody is an admin');
  for (const name of namesIn(admins))
    if (namesIn(viewers).includes(name)) complain(['roles', 'viewers'], `'${name}' is an admin, too`);
  for (const [entry, agents] of Object.entries(visibility)) {
    checkEntry(entry, ['visibility', entry], about);
    if (agents !== 'all') checkOnce(agents, ['visibility', entry]);
  }
}
