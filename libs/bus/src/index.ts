export * from './catalogue.ts';
export * from './bus.ts';
