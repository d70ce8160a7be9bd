import type { Countersign, GrantSeen } from '../../../src/client';

/** A client that has these grants and nothing else, and what it was asked to revoke. */
export function grantsClient(all: GrantSeen[]): { client: Countersign; revoked: unknown[] } {
  const revoked: unknown[] = [];
  const grants: Pick<Countersign['grants'], 'list' | 'revoke'> = {
    list: async () => ({ grants: all }),
    revoke: async (asked) => {
      revoked.push(asked);
      return { ended: all.filter(({ id }) => asked.id === undefined || id === asked.id) };
    },
  };
  const client = new Proxy<Countersign>(Object.create(null), {
    get: (_, name) => (name === 'grants' ? grants : undefined),
  });
  return { client, revoked };
}
