/** `NetReach/default/name`. */
export const taskKey = (kind: string, namespace: string | undefined, name: string): string => `${kind}/${namespace ?? ''}/${name}`;
