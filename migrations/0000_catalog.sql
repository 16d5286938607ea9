-- Made by drizzle-kit from src/catalog/schema.ts, then edited by hand: every table is WITHOUT ROWID, which drizzle-kit
-- cannot say. Clustered on its key, a row costs one written row; with a rowid and a key beside it, it would cost two.
-- A later migration that drizzle-kit makes by rebuilding a table needs the same edit.
CREATE TABLE `commits` (
	`fleet` text NOT NULL,
	`session` text NOT NULL,
	`version` integer NOT NULL,
	`at` integer NOT NULL,
	`actor` text NOT NULL,
	`message` text,
	`cause` text,
	`digest` text NOT NULL,
	`ops` text NOT NULL,
	`ops_more` integer NOT NULL,
	PRIMARY KEY(`fleet`, `session`, `version`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `commits_by_time` ON `commits` (`fleet`,`at`,`session`,`version`);--> statement-breakpoint
CREATE TABLE `entries` (
	`fleet` text NOT NULL,
	`session` text NOT NULL,
	`kind` text NOT NULL,
	`key` text NOT NULL,
	`since` integer NOT NULL,
	`until` integer,
	`value` text,
	`blob` text,
	`size` integer NOT NULL,
	`digest` text NOT NULL,
	PRIMARY KEY(`fleet`, `session`, `kind`, `key`, `since`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`fleet` text NOT NULL,
	`session` text NOT NULL,
	`seq` integer NOT NULL,
	`version` integer NOT NULL,
	`at` integer NOT NULL,
	`actor` text NOT NULL,
	`type` text NOT NULL,
	`lane` text NOT NULL,
	`key` text,
	`parent` integer,
	`payload` text,
	`blob` text,
	`size` integer NOT NULL,
	`digest` text NOT NULL,
	PRIMARY KEY(`fleet`, `session`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `session_labels` (
	`fleet` text NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	`session` text NOT NULL,
	PRIMARY KEY(`fleet`, `key`, `value`, `session`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sessions` (
	`fleet` text NOT NULL,
	`session` text NOT NULL,
	`version` integer NOT NULL,
	`projected_version` integer NOT NULL,
	`digest` text NOT NULL,
	`title` text,
	`title_folded` text,
	`labels` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`expires_at` integer,
	`origin_session` text,
	`origin_version` integer,
	`deleted` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`fleet`, `session`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sessions_by_update` ON `sessions` (`fleet`,`updated_at`,`session`);--> statement-breakpoint
CREATE INDEX `sessions_by_creation` ON `sessions` (`fleet`,`created_at`,`session`);
