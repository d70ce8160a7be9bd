import { testKills } from './kill';

describe('durability step', () => testKills('step'));
