import { testCrashPoints } from './crash-points';

describe('durability step', () => testCrashPoints('step'));
