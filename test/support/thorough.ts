/** Whether races are tried as often as it takes to trust their answer; `.ci/run` sets it. Without it they are tried for a moment. */
export const isThorough = process.env['COUNTERSIGN_THOROUGH'] === '1';
