import { createHash } from 'node:crypto';
import type { Container } from '@roundsman/api';

/** Changes when the container must be made anew: the image is all of a running pod's containers that may be changed. */
export const specHash = ({ name, image }: Pick<Container, 'name' | 'image'>): string =>
  createHash('sha256').update(JSON.stringify([name, image])).digest('hex').slice(0, 16);
