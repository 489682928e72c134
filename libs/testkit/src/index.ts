export { startDocker, type DockerOptions, type TestDocker } from './docker.ts';
export { dockerUnavailable, whenDocker } from './docker-requirements.ts';
export { eventually } from './eventually.ts';
export { busyboxImages, testImages, type TestImage } from './images.ts';
export { startNats, type NatsOptions, type TestNats } from './nats.ts';
export { manifest, workOrder } from './orders.ts';
export { freePort } from './ports.ts';
export { startPostgres, type PostgresOptions, type TestPostgres } from './postgres.ts';
export { distributionOfUs, roundResult, targetResult } from './results.ts';
