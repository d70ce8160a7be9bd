import { agentsOf, expiringAgent, lifeUntil } from '../../../bench/scale/agents';

const names = agentsOf('http://127.0.0.1:1/').map(({ name }) => name);

it.each([
  [1, 5],
  [5_000, 5],
  [5_001, 10],
  [20_000, 20],
  [1_200_000, 1200],
])('a request that expires in %p ms lives for %p s, which an agent has', (ms, seconds) => {
  expect(lifeUntil(ms)).toBe(seconds);
  expect(names).toContain(expiringAgent(seconds));
});

it.each([0, -1, 1_200_001])('%p ms are no time that a request can be given', (ms) => {
  expect(lifeUntil(ms)).toBeUndefined();
});
