import { approveSeen } from '../cli/saw';
import { startNode } from '../cli/process';
import { describeWithPostgres, startCuttablePostgres, type CuttablePostgres } from '../support/postgres';
import { until } from '../support/until';
import { startExample, type RunningExample } from './start-example';

describeWithPostgres('the example of a memory', () => {
  let database: CuttablePostgres;
  let example: RunningExample;

  beforeAll(async () => {
    database = await startCuttablePostgres();
    example = await startExample('memory', 'MEMORY', { DATABASE_URL: database.url });
  });

  afterAll(async () => {
    await example.stop();
    await database.stop();
  });

  const ask = async (as: string, prompt: string): Promise<string> => {
    const { code, out, err } = await example.cli('run', 'clerk', prompt, '--as', as);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out;
  };

  it('knows in a later conversation what the same person said, and nothing of others', async () => {
    expect(await ask('ann', 'remember that I drink tea')).toContain('I will remember it.');
    await ask('ann', 'remember that I drink tea');
    expect((await ask('ann', 'who am I?')).match(/- I drink tea/g)).toHaveLength(1);
    expect(await ask("'; drop table facts; --", 'who am I?')).toContain('I know nothing about you.');
    expect(await ask('ann', 'who am I?')).toContain('- I drink tea');
  });

  it('forgets only what a person approved', async () => {
    await ask('eve', 'remember that I sing');
    const { code } = await example.cli(
      ...['run', 'clerk', 'forget that I sing', '--as', 'eve', '--id', 'forgets', '--wait', '0'],
    );
    expect(code).toBe(6);
    expect(await ask('eve', 'who am I?')).toContain('- I sing');
    const { out } = await example.cli('show', 'forgets/1.1');
    expect(out).toContain('No later conversation of eve will know: I sing');
    expect((await approveSeen(example.cli, 'forgets/1.1')).code).toBe(0);
    expect(await example.end('forgets')).toContain('I forgot it.');
    expect(await ask('eve', 'who am I?')).toContain('I know nothing about you.');
  });

  it('asks the model only once the memory answers again', async () => {
    await ask('ida', 'remember that I ski');
    await database.cut();
    const { code } = await example.cli(
      ...['run', 'clerk', 'who am I?', '--as', 'ida', '--id', 'waits', '--detach'],
    );
    expect(code).toBe(0);
    await until('the failure to be told', async () =>
      /ECONNREFUSED|connect/.test((await example.cli('show', 'waits')).out),
    );
    await database.mend();
    expect(await example.end('waits')).toContain('- I ski');
  });
});

describeWithPostgres('npm run example -- memory', () => {
  it('starts a database, and shows that the second conversation knows the fact of the first', async () => {
    const { code, out } = await startNode(['scripts/example.mjs', 'memory']).ended;
    expect(code).toBe(0);
    const [, first, second, third] = out.split(/agent clerk: /);
    expect(first).toContain('I will remember it.');
    expect(second).toContain('- I drink my coffee black');
    expect(third).toContain('I know nothing about you.');
  });
});
