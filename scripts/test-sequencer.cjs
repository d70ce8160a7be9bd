const { default: Sequencer } = require('@jest/test-sequencer');

/** Tests on a server first, as they take longest; the many short ones then fill both processes to the end. */
module.exports = class ServerFirst extends Sequencer {
  sort(tests) {
    const order = super.sort(tests);
    const isOnServer = ({ context }) => context.config.displayName?.name !== 'unit';
    return [...order.filter(isOnServer), ...order.filter((test) => !isOnServer(test))];
  }
};
