export type { ServiceContext, ServiceDefinition } from './definition.ts';
export { Health, type Check } from './health.ts';
