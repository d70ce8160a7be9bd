import type { Away, AwayAsked, BackAsked, Countersign } from '../../../src/client';

/** A client that knows only who is away, and what it was told of that. An error: nobody can tell. */
export function clientWith(all: Away[] | Error): {
  client: Countersign;
  put: AwayAsked[];
  ended: BackAsked[];
} {
  const put: AwayAsked[] = [];
  const ended: BackAsked[] = [];
  const away: Countersign['away'] = {
    put: async (asked) => {
      put.push(asked);
      return { ...asked, takenAt: asked.at };
    },
    end: async (asked) => {
      ended.push(asked);
      const entry = (all instanceof Error ? [] : all).find(({ id }) => id === asked.id);
      if (entry === undefined) throw new Error(`nobody is away by ${asked.id}`);
      return entry;
    },
    list: async () => {
      if (all instanceof Error) throw all;
      return { entries: all };
    },
  };
  const client = new Proxy<Countersign>(Object.create(null), {
    get: (_, name) => (name === 'away' ? away : undefined),
  });
  return { client, put, ended };
}
