import { testCrashPoints } from './crash-points';

describe('durability gate', () => testCrashPoints('gate'));
