export { clock, expiry, relative, span } from '../../contract/times';
