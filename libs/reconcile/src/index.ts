export { Expired, type ObjectSource } from './source.ts';
