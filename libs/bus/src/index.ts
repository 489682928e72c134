export * from './catalogue.ts';
export * from './bus.ts';
export { connectBus } from './nats-bus.ts';
export type { ConnectOptions } from './connection.ts';
export type { BusLog } from './log.ts';
export { InvalidPayload } from './codec.ts';
export { decodeToken, encodeToken, filterOf, InvalidToken, paramsOf, subjectOf } from './subject.ts';
export { ensureRunnerConsumer, ensureStreams, removeRunnerConsumer, runnerConsumeOptions, runnerDurable } from './streams.ts';
export { onReconnect, pendingWork, purgeWork, runnersWithConsumer } from './work.ts';
