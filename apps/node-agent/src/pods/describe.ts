import type { Pod } from '@roundsman/api';

/** How events and messages name a pod: `name_namespace(uid)`. */
export const describePod = ({ metadata }: Pick<Pod, 'metadata'>): string => `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
