import './global-setup';

const teardown = async (): Promise<void> => globalThis.countersignTestServer?.stop();

export default teardown;
