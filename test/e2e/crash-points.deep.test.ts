import { testCrashPoints } from './crash-points';

describe('durability step', () => testCrashPoints('step', 'all'));
// Calls with an effect end a burst before they start, so little can differ here.
describe('durability gate', () => testCrashPoints('gate', 'few'));
