export { type ContainerListener, type ContainerRuntime, type ContainerSpec, type ContainerState, type ContainerStatus, type RestartPolicy } from './runtime.ts';
export { ProcessRuntime } from './process/process-runtime.ts';
export { FakeRuntime } from './fake-runtime.ts';
export * from './pod-runtime.ts';
export { pauseImage } from './docker/pause/pause-image.ts';
export { archivedImages } from './docker/image-archive.ts';
export { DockerPodRuntime, type DockerPodRuntimeOptions } from './docker/docker-pod-runtime.ts';
export { fakeImage, FakePodRuntime, type FakeCommand } from './fake-pod-runtime.ts';
