import { Pool } from 'pg';

/** A slower answer than this fails, and Countersign tries again. */
const ANSWER_MS = 5_000;
/** The newest facts are enough: a model gets them all at once. */
const MOST_FACTS = 100;

/** What is known about people, in PostgreSQL. Any number of workers may use it at once. */
export function openMemory(url: string) {
  const pool = new Pool({
    ...{ connectionString: url, max: 4 },
    ...{ connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS },
  });
  // The database went away under a connection that nobody uses. The next query says so to whoever asks.
  pool.on('error', (error) => console.error(`the memory lost a connection: ${error.message}`));

  let prepared: Promise<unknown> | undefined;
  const ready = async (): Promise<void> => {
    // Two workers that start together take turns: `if not exists` alone may fail where both create it.
    prepared ??= pool.query(
      `select pg_advisory_xact_lock(hashtext('facts'));
       create table if not exists facts (
         person text not null,
         fact text not null,
         kept_at timestamptz not null default now(),
         primary key (person, fact)
       );`,
    );
    try {
      await prepared;
    } catch (error) {
      prepared = undefined;
      throw error;
    }
  };

  return {
    /** The newest first. */
    async factsOf(person: string): Promise<string[]> {
      await ready();
      const { rows } = await pool.query<{ fact: string }>(
        'select fact from facts where person = $1 order by kept_at desc, fact limit $2',
        [person, MOST_FACTS],
      );
      return rows.map(({ fact }) => fact);
    },

    /** Telling the same fact again changes nothing. */
    async keep(person: string, fact: string): Promise<void> {
      await ready();
      await pool.query('insert into facts (person, fact) values ($1, $2) on conflict do nothing', [
        person,
        fact,
      ]);
    },

    /** Returns whether the fact was known. */
    async forget(person: string, fact: string): Promise<boolean> {
      await ready();
      const { rowCount } = await pool.query('delete from facts where person = $1 and fact = $2', [
        person,
        fact,
      ]);
      return rowCount === 1;
    },
  };
}
