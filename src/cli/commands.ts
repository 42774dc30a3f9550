import { backupCommands } from './backup.ts'
import { brandCommands } from './brand.ts'
import { campaignCommands } from './campaign.ts'
import { channelCommands } from './channel.ts'
import type { Command } from './command.ts'
import { customerCommands } from './customer.ts'
import { deadLetterCommands } from './dead-letter.ts'
import { demoCommands } from './demo.ts'
import { demoStoreCommands } from './demo-store.ts'
import { discountCommands } from './discount.ts'
import { docsCommands } from './docs.ts'
import { doctorCommands } from './doctor.ts'
import { exportCommands } from './export.ts'
import { importCommands } from './import.ts'
import { keyCommands } from './key.ts'
import { lakeCommands } from './lake.ts'
import { mergeCommands } from './merge.ts'
import { policyCommands } from './policy.ts'
import { providerCommands } from './provider.ts'
import { refreshCommands } from './refresh.ts'
import { runCommands } from './run.ts'
import { segmentCommands } from './segment.ts'
import { sqlCommands } from './sql.ts'
import { statusCommands } from './status.ts'
import { storeCommands } from './store.ts'
import { userCommands } from './user.ts'

/** All commands, in the order in which --help lists them. */
export const COMMANDS: readonly Command[] = [
  ...runCommands,
  ...brandCommands,
  ...keyCommands,
  ...userCommands,
  ...providerCommands,
  ...importCommands,
  ...storeCommands,
  ...deadLetterCommands,
  ...refreshCommands,
  ...segmentCommands,
  ...campaignCommands,
  ...discountCommands,
  ...channelCommands,
  ...policyCommands,
  ...customerCommands,
  ...mergeCommands,
  ...sqlCommands,
  ...exportCommands,
  ...lakeCommands,
  ...demoCommands,
  ...demoStoreCommands,
  ...statusCommands,
  ...doctorCommands,
  ...backupCommands,
  ...docsCommands(() => COMMANDS),
]
