-- Made by drizzle-kit from src/catalog/schema.ts, then edited by hand: every table is WITHOUT ROWID.
CREATE TABLE `snapshot_objects` (
	`fleet` text NOT NULL,
	`session` text NOT NULL,
	`name` text NOT NULL,
	`sha256` text NOT NULL,
	`kind` text NOT NULL,
	`r2_key` text NOT NULL,
	`start` integer NOT NULL,
	`size` integer NOT NULL,
	PRIMARY KEY(`fleet`, `session`, `name`, `sha256`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `snapshots` (
	`fleet` text NOT NULL,
	`session` text NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`digest` text NOT NULL,
	`root` text NOT NULL,
	`family` text NOT NULL,
	`entries` integer NOT NULL,
	`events` integer NOT NULL,
	`bytes` integer NOT NULL,
	`created_at` integer NOT NULL,
	`message` text,
	PRIMARY KEY(`fleet`, `session`, `name`)
) WITHOUT ROWID;
