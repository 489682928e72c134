import { z } from 'zod';
import { core, plainFlag, requiredText, text, texts, whole } from '../fields.ts';
import { envFromSourceSchema, envVarSchema } from './environment.ts';
import { lifecycleSchema } from './lifecycle.ts';
import { probeSchema } from './probe.ts';
import { resourceRequirementsSchema } from './resources.ts';
import { securityContextSchema } from './security.ts';

export const containerPortSchema = core('ContainerPort', 'A port that the container listens on', {
  name: text('Name that others can use instead of the number'),
  containerPort: z.number().int().describe('The port, 1 to 65535'),
  hostPort: whole('Port of the node that leads to it'),
  hostIP: text('Address of the node to listen on'),
  protocol: z.enum(['SCTP', 'TCP', 'UDP']).default('TCP').describe('TCP, UDP or SCTP'),
});
export type ContainerPort = z.infer<typeof containerPortSchema>;

export const volumeMountSchema = core('VolumeMount', 'Shows a volume of the pod in the container', {
  name: requiredText('Name of the volume'),
  mountPath: requiredText('Path in the container'),
  subPath: text('Path in the volume to show instead of its root'),
  subPathExpr: text('The same, with variables of the environment as $(NAME)'),
  readOnly: plainFlag('Nothing can be written'),
  recursiveReadOnly: z.enum(['Disabled', 'Enabled', 'IfPossible']).optional().describe('Whether readOnly holds for what is mounted below, too'),
  mountPropagation: z.enum(['Bidirectional', 'HostToContainer', 'None']).optional().describe('Which later mounts are seen'),
});
export type VolumeMount = z.infer<typeof volumeMountSchema>;

const members = {
  name: requiredText('Name of the container, unique in the pod'),
  image: text('Image to run'),
  command: texts('Program and its arguments instead of the entrypoint of the image'),
  args: texts('Arguments instead of those of the image'),
  workingDir: text('Directory to start in; that of the image unless set'),
  ports: z.array(containerPortSchema).optional().describe('Ports it listens on'),
  envFrom: z.array(envFromSourceSchema).optional().describe('Objects whose keys become variables'),
  env: z.array(envVarSchema).optional().describe('Variables of the environment'),
  resources: resourceRequirementsSchema.prefault({}).describe('What it needs and may use'),
  resizePolicy: z
    .array(core('ContainerResizePolicy', 'What a change of a resource takes', { resourceName: requiredText('The resource'), restartPolicy: requiredText('NotRequired or RestartContainer') }))
    .optional()
    .describe('What changes of its resources take'),
  restartPolicy: z.enum(['Always']).optional().describe('For init containers: Always makes it a sidecar, which runs as long as the pod'),
  volumeMounts: z.array(volumeMountSchema).optional().describe('Volumes of the pod to show in it'),
  volumeDevices: z
    .array(core('VolumeDevice', 'Shows a block device', { name: requiredText('Name of the claim'), devicePath: requiredText('Path in the container') }))
    .optional()
    .describe('Block devices to show in it'),
  livenessProbe: probeSchema.optional().describe('When it fails the container is restarted'),
  readinessProbe: probeSchema.optional().describe('While it fails the pod gets no traffic'),
  startupProbe: probeSchema.optional().describe('Until it succeeds the other probes wait'),
  lifecycle: lifecycleSchema.optional().describe('What is done after its start and before its end'),
  terminationMessagePath: z.string().default('/dev/termination-log').describe('File with its last words, shown in its status'),
  terminationMessagePolicy: z.enum(['FallbackToLogsOnError', 'File']).default('File').describe('Where its last words come from'),
  // By tag, which the schema of a member cannot see: filled in afterwards (defaults.ts).
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional().describe('When the image is pulled; Always for the tag latest, else IfNotPresent, unless set'),
  securityContext: securityContextSchema.optional().describe('Its rights'),
  stdin: plainFlag('Keeps its standard input open'),
  stdinOnce: plainFlag('Closes its standard input after the first client'),
  tty: plainFlag('Gives it a terminal'),
};

export const containerSchema = core('Container', 'A container of a pod', members);
export type Container = z.infer<typeof containerSchema>;

export const ephemeralContainerSchema = core('EphemeralContainer', 'A container that is added to a running pod, to look into it', {
  ...members,
  targetContainerName: text('Container whose processes it sees'),
});
export type EphemeralContainer = z.infer<typeof ephemeralContainerSchema>;
