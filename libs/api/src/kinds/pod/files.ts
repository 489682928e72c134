import { z } from 'zod';
import { core, requiredText, whole } from '../fields.ts';
import { objectFieldSelectorSchema, resourceFieldSelectorSchema } from './environment.ts';

/** What the volumes that show keys and fields as files have in common. */
export const defaultMode = z.number().int().default(0o644).describe('Permissions of the files that name none; 0644 unless set');

export const keyToPathSchema = core('KeyToPath', 'Shows one key as a file', {
  key: requiredText('The key'),
  path: requiredText('Path of the file in the volume'),
  mode: whole('Permissions of the file'),
});
export type KeyToPath = z.infer<typeof keyToPathSchema>;
export const items = z.array(keyToPathSchema).optional().describe('The keys to show; all of them unless set');

export const downwardAPIVolumeFileSchema = core('DownwardAPIVolumeFile', 'Shows something of the pod as a file', {
  path: requiredText('Path of the file in the volume'),
  fieldRef: objectFieldSelectorSchema.optional().describe('A field of the pod'),
  resourceFieldRef: resourceFieldSelectorSchema.optional().describe('A request or limit of a container'),
  mode: whole('Permissions of the file'),
});
export type DownwardAPIVolumeFile = z.infer<typeof downwardAPIVolumeFileSchema>;
