/**
 * Makes stores of async context cost less. Up to Node 22 each that was used is copied at every promise of the process, and a test
 * has dozens: one for each connection to the server, and one for each turn that a worker keeps. Here all of them are entries of
 * one. Node itself does so from 24 on.
 */
const { AsyncLocalStorage } = require('node:async_hooks');

const { disable, enterWith, getStore, run } = AsyncLocalStorage.prototype;
/** With Node's own methods, which call one another. */
const all = Object.assign(new AsyncLocalStorage(), { disable, enterWith, getStore, run });
/** Those that were used, and not disabled since. */
let used = new WeakSet();

/** What every store has here, and this one. */
const having = (store, value) => {
  used.add(store);
  return new Map(getStore.call(all)).set(store, value);
};

Object.assign(AsyncLocalStorage.prototype, {
  getStore() {
    return used.has(this) ? getStore.call(all)?.get(this) : undefined;
  },
  run(value, callback, ...args) {
    return run.call(all, having(this, value), callback, ...args);
  },
  enterWith(value) {
    enterWith.call(all, having(this, value));
  },
  exit(callback, ...args) {
    return this.run(undefined, callback, ...args);
  },
  disable() {
    used.delete(this);
  },
});

/** Ends all stores that were used: Jest has one for each file, and nothing else of a file is to last. */
module.exports = function disableStores() {
  used = new WeakSet();
  disable.call(all);
};
