import { AsyncLocalStorage } from 'node:async_hooks';

// The workflow sandbox has this global, and the SDK reads it once, when it is loaded. Without it no scope can be entered.
Object.assign(globalThis, { AsyncLocalStorage });
