import { Lookers } from '../../src/server/open-elsewhere';

const CALL = 't-1/1.1';

it('names the others who have a call open, until they are silent', () => {
  let now = 0;
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now);
  const lookers = new Lookers();
  lookers.open('ann', CALL);
  lookers.open('bob', CALL);
  lookers.open('cleo', 't-1/1.2');
  expect(lookers.stay('ann', CALL)).toEqual(['bob']);
  now = 24_000;
  expect(lookers.stay('bob', CALL)).toEqual(['ann']);
  now = 26_000;
  expect(lookers.stay('bob', CALL)).toEqual([]);
  expect(lookers.stay('ann', CALL)).toEqual(['bob']);
  clock.mockRestore();
});

it('names nobody to who has not read the call', () => {
  const lookers = new Lookers();
  lookers.open('ann', CALL);
  expect(lookers.stay('eve', CALL)).toEqual([]);
  expect(lookers.stay('ann', CALL)).toEqual([]);
});
