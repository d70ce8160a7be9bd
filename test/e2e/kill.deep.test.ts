import { testKills } from './kill';

describe('durability step', () => testKills('step', 'all'));
// A lost burst changes only what it held: calls that may run again.
describe('durability gate', () => testKills('gate', 'both'));
