export { type ContainerListener, type ContainerRuntime, type ContainerSpec, type ContainerState, type ContainerStatus, type RestartPolicy } from './runtime.ts';
export { ProcessRuntime } from './process/process-runtime.ts';
export { FakeRuntime } from './fake-runtime.ts';
export * from './pod-runtime.ts';
