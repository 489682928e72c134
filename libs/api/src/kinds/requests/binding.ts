import { z } from 'zod';
import { objectOf } from '../object.ts';
import { objectReferenceSchema } from '../pod/reference.ts';

/** Sent to `pods/NAME/binding`. */
export const bindingSchema = objectOf('v1', 'Binding', 'Places a pod on a node', { target: objectReferenceSchema.describe('The node') });
export type Binding = z.infer<typeof bindingSchema>;
