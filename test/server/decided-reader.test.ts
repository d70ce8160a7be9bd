import { createDecidedReader } from '../../src/server/decided-reader';

it('asks once for a user who asks again at once, anew after a decision, and again after a failure', async () => {
  const looks: string[] = [];
  let fails = false;
  const client = {
    list: async () => {
      looks.push('list');
      if (fails) throw new Error('gone');
      return [];
    },
    timeline: async (turn: string) => {
      looks.push(turn);
      return [];
    },
  };
  const reader = createDecidedReader(client);
  await Promise.all([reader.read('ann'), reader.read('ann')]);
  expect(looks).toEqual(['list']);
  reader.note('ann', 't-1');
  expect(await reader.read('ann')).toMatchObject({ looked: 1 });
  expect(looks).toEqual(['list', 'list', 't-1']);
  expect(await reader.read('bob')).toMatchObject({ looked: 0 });
  fails = true;
  await expect(reader.read('cyd')).rejects.toThrow('gone');
  fails = false;
  expect(await reader.read('cyd')).toMatchObject({ calls: [] });
});
