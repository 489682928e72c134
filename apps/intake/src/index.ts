import type { ServiceDefinition } from '@roundsman/service';
import { migrateStore } from '@roundsman/store';
import { Intake } from './intake.ts';
import { intakeSettings, type IntakeSettings } from './settings.ts';

class IntakeModule {}

/** The only writer of objects: admits, commits and announces every write; a standby takes over by advisory lock. */
export const service: ServiceDefinition<IntakeSettings> = {
  name: 'intake',
  config: intakeSettings as ServiceDefinition<IntakeSettings>['config'],
  needsDatabase: true,
  migrate: migrateStore,
  module: (context) => ({ module: IntakeModule, providers: [{ provide: Intake, useFactory: () => new Intake(context) }] }),
};
