export { eventually } from './eventually.ts';
export { startNats, type NatsOptions, type TestNats } from './nats.ts';
export { manifest, workOrder } from './orders.ts';
export { freePort } from './ports.ts';
export { startPostgres, type PostgresOptions, type TestPostgres } from './postgres.ts';
export { distributionOfUs, roundResult, targetResult } from './results.ts';
