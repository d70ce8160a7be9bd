/** The global by which a worker tells the failure converter in its prebuilt workflow bundle that it has keys. */
export const SWITCH = '__countersignEncodesFailures';

/** Put before the code of the bundle, on its first line, so that the lines of its source map stay. */
export const ENCODES_FAILURES = `globalThis.${SWITCH}=true;`;
