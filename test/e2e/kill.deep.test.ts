import { testKills } from './kill';

describe('durability gate', () => testKills('gate'));
