import { resolveIntOrString, type Deployment } from '@roundsman/api';

/** How far a roll-out may go from the wanted number, in pods. Recreate allows no surge, and counts nothing as unavailable. */
export interface Limits {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

export function limitsOf({ spec: { replicas, strategy } }: Deployment): Limits {
  if (strategy.type !== 'RollingUpdate') return { replicas, maxSurge: 0, maxUnavailable: 0 };
  const maxSurge = resolveIntOrString(strategy.rollingUpdate?.maxSurge ?? '25%', replicas, true);
  const maxUnavailable = resolveIntOrString(strategy.rollingUpdate?.maxUnavailable ?? '25%', replicas, false);
  // Percentages of few pods may leave no way to go on.
  const least = maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable;
  return { replicas, maxSurge, maxUnavailable: replicas === 0 ? 0 : Math.min(least, replicas) };
}
