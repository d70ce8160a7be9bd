import { errorMessage } from '../../src/contract/errors';
import { type Suite, takeSuite } from '../../scripts/suites.cjs';
import { isThorough } from './thorough';

/** Tests that read a suite of another project. Where it cannot be taken they are skipped, and the title says why. */
export const describeWithSuite = (name: Suite, title: string, tests: (folder: string) => void): void => {
  let folder: string;
  try {
    folder = takeSuite(name);
  } catch (error) {
    if (isThorough) throw error;
    const why = errorMessage(error).split('\n', 1)[0] ?? '';
    describe.skip(`${title} (not here: ${why})`, () => {
      it('is left out', () => {});
    });
    return;
  }
  describe(title, () => tests(folder));
};
