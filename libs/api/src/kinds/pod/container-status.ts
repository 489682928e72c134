import { z } from 'zod';
import { core, quantities, requiredText, text, time, whole } from '../fields.ts';
import { resourceRequirementsSchema } from './resources.ts';

const terminatedSchema = core('ContainerStateTerminated', 'The container has ended', {
  exitCode: z.number().int().describe('Exit code'),
  signal: whole('Signal that ended it'),
  reason: text('One word why: Completed, Error, OOMKilled'),
  message: text('Its last words'),
  startedAt: time('When it started'),
  finishedAt: time('When it ended'),
  containerID: text('The container, as runtime://id'),
});
export type ContainerStateTerminated = z.infer<typeof terminatedSchema>;

const stateSchema = core('ContainerState', 'What a container does: one of the three', {
  waiting: core('ContainerStateWaiting', 'The container waits', { reason: text('One word why'), message: text('Why, in words') }).optional().describe('It waits'),
  running: core('ContainerStateRunning', 'The container runs', { startedAt: time('Since when') }).optional().describe('It runs'),
  terminated: terminatedSchema.optional().describe('It has ended'),
});
export type ContainerState = z.infer<typeof stateSchema>;

export const containerStatusSchema = core('ContainerStatus', 'State of one container', {
  name: requiredText('Name of the container'),
  state: stateSchema.prefault({}).describe('What it does'),
  lastState: stateSchema.prefault({}).describe('How it ended before it was started again'),
  ready: z.boolean().describe('Whether its readiness probe succeeds'),
  restartCount: z.number().int().describe('How often it was started again'),
  image: z.string().describe('The image it runs'),
  imageID: z.string().describe('The image, by its content'),
  containerID: text('The container, as runtime://id'),
  started: z.boolean().optional().describe('Whether it runs and its startup probe has succeeded'),
  allocatedResources: quantities('What is set aside for it'),
  resources: resourceRequirementsSchema.optional().describe('What it has'),
  volumeMounts: z
    .array(
      core('VolumeMountStatus', 'A volume that is mounted', {
        name: requiredText('Name of the volume'),
        mountPath: requiredText('Path in the container'),
        readOnly: z.boolean().optional().describe('Nothing can be written'),
        recursiveReadOnly: text('Whether readOnly holds for what is mounted below, too'),
      }),
    )
    .optional()
    .describe('Volumes that are mounted'),
  user: core('ContainerUser', 'User of the first process', {
    linux: core('LinuxContainerUser', 'User on Linux', {
      uid: z.number().int().describe('User id'),
      gid: z.number().int().describe('Group id'),
      supplementalGroups: z.array(z.number().int()).optional().describe('More groups'),
    })
      .optional()
      .describe('On Linux'),
  })
    .optional()
    .describe('User of its first process'),
});
export type ContainerStatus = z.infer<typeof containerStatusSchema>;
