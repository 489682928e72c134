import { ReportTables1763708400001 } from './tables.ts';
import { ReportFunctions1763708400002 } from './functions.ts';
import { ReportViews1763708400003 } from './views.ts';
import { ReportLayers1763740800004 } from './layers.ts';
import { ReportCuts1763748000005 } from './cuts.ts';

/** In order; a migration that was released is never changed, only followed by another. */
export const migrations = [ReportTables1763708400001, ReportFunctions1763708400002, ReportViews1763708400003, ReportLayers1763740800004, ReportCuts1763748000005] as const;
