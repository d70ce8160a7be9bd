/** Starts a PostgreSQL as the cluster does, says `user:password` once it takes connections, and ends it when its input ends. Arguments: a directory and a port. */
import { findPostgres } from './cluster-parts.mjs';
import { startPostgres } from './cluster-postgres.mjs';

let end = () => {};
const [, , directory, port] = process.argv;
const place = { bin: findPostgres(), directory, port: Number(port) };
const { user, password } = await startPostgres({ ...place, started: ({ stop }) => (end = stop) });
process.stdout.write(`${user}:${password}\n`);
process.stdin.resume().once('end', () => end());
