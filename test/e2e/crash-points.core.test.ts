import { testCrashPoints } from './crash-points';

testCrashPoints('step', 'few');
