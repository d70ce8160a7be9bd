/** The roles of signed-in people. Each role may also do everything that the roles before it may do. */
export const ROLES = ['viewer', 'approver', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/**
 * The rights of a person in a web inbox, and the turns that this person sees. Plain data, so that two can be compared.
 */
export interface Permit {
  role: Role;
  /** The agents whose turns and conversations the person sees. */
  agents: 'all' | readonly string[];
}

/** The permit of everybody if no file says otherwise. */
export const EVERYTHING: Permit = { role: 'admin', agents: 'all' };

/** Whether a role may do everything that another role may do. */
export function isAtLeast(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** An agent that is not known. Only people who see all agents see its turns. */
export const UNKNOWN_AGENT = '';

/** The agents whose text an item holds: its own agent, and the agents of the turns that led to it. */
interface Owned {
  agent: string;
  /** The agents of those turns. Absent: no turn led to the item. */
  callers?: readonly string[];
}

/** Whether a person sees all agents whose text an item holds. */
export function isSeenBy({ agents }: Pick<Permit, 'agents'>, { agent, callers = [] }: Owned): boolean {
  return (
    agents === 'all' || [agent, ...callers].every((one) => one !== UNKNOWN_AGENT && agents.includes(one))
  );
}
