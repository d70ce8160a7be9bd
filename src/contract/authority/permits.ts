/** What somebody who is signed in may do, least first. A role may do what those before it may. */
export const ROLES = ['viewer', 'approver', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** What somebody may do in a web inbox, and what of it they see. Plain data, so that two can be compared. */
export interface Permit {
  role: Role;
  /** The agents whose turns and conversations they see. */
  agents: 'all' | readonly string[];
}

/** That of everybody where no file says otherwise. */
export const EVERYTHING: Permit = { role: 'admin', agents: 'all' };

/** Whether a role may do what another one may. */
export function isAtLeast(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** An agent that is not known. Only those who see all agents see its turns. */
export const UNKNOWN_AGENT = '';

/** Whose words something holds: its agent's, and those of the turns that led to it. */
export interface Owned {
  agent: string;
  /** Agents of those turns. Absent: none led to it. */
  callers?: readonly string[];
}

/** Whether somebody sees all whose words something holds. */
export function isSeenBy({ agents }: Pick<Permit, 'agents'>, { agent, callers = [] }: Owned): boolean {
  return (
    agents === 'all' || [agent, ...callers].every((one) => one !== UNKNOWN_AGENT && agents.includes(one))
  );
}
