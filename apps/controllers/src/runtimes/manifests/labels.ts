import { runtimeLabels, type Runtime } from '@roundsman/api';

/** On all that is made in a Kubernetes API, which several installations of Roundsman may share: which of them it belongs to. */
export const installationLabel = 'roundsman.io/installation';
/** On a pod template: part of the hash of the token, so that a new one makes new pods. */
export const tokenAnnotation = 'roundsman.io/token';

/** Of every object of a runtime, its pods too. */
export const labelsOf = ({ metadata, spec }: Runtime, installation: string): Record<string, string> => ({
  [runtimeLabels.runtime]: metadata.name,
  [installationLabel]: installation,
  'app.kubernetes.io/name': 'probe-runner',
  'app.kubernetes.io/managed-by': 'roundsman',
  ...(spec.task === undefined ? {} : { [runtimeLabels.taskKind]: spec.task.kind, [runtimeLabels.taskUid]: spec.task.uid }),
});

/** What its pods are found by: never changes. */
export const selectorOf = ({ metadata }: Runtime): Record<string, string> => ({ [runtimeLabels.runtime]: metadata.name });
