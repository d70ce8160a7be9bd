import type { Countersign, GrantSeen } from '../../../src/client';

/** A client that has these grants and nothing else, and what it was asked to confirm and revoke. */
export function grantsClient(all: GrantSeen[]): {
  client: Countersign;
  revoked: unknown[];
  confirmed: unknown[];
} {
  const revoked: unknown[] = [];
  const confirmed: unknown[] = [];
  const grants: Pick<Countersign['grants'], 'confirm' | 'list' | 'revoke'> = {
    confirm: async ({ id, ...vote }) => {
      confirmed.push({ id, ...vote });
      const grant = all.find((one) => one.id === id);
      if (grant === undefined) throw new Error(`no grant ${id}`);
      return { ...grant, confirmed: [vote] };
    },
    list: async () => ({ grants: all }),
    revoke: async (asked) => {
      revoked.push(asked);
      return { ended: all.filter(({ id }) => asked.id === undefined || id === asked.id) };
    },
  };
  const client = new Proxy<Countersign>(Object.create(null), {
    get: (_, name) => (name === 'grants' ? grants : undefined),
  });
  return { client, revoked, confirmed };
}
