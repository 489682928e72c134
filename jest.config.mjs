// Native ESM Jest: started with --experimental-vm-modules (package.json, "jest").
export default {
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/e2e'],
  testMatch: ['**/*.spec.ts', '**/*.e2e.ts'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '@swc/jest' },
  // Never 'import' here: it breaks packages that mix both kinds.
  testEnvironmentOptions: { customExportConditions: ['@roundsman/source', 'node', 'node-addons'] },
  modulePathIgnorePatterns: ['/dist/'],
  coverageProvider: 'v8',
  workerIdleMemoryLimit: '512MB',
  // Ends what hangs; what a test waits for has limits of its own, which say what was wrong.
  testTimeout: 180_000,
};
