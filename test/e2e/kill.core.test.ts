import { testKills } from './kill';

testKills('step', 'one');
