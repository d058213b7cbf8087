package interlock.rules_test

test_sql_tables_denies_reading_and_writing_where_passwords_are if {
	every table in [{"name": "pg_shadow", "qualified": "pg_catalog.pg_shadow"}, {"name": "user", "qualified": "mysql.user"}] {
		every part in {"reads", "writes"} {
			verdicts("sql/tables") == {"deny"} with input as querying(reading, {part: [table]}, {})
		}
	}
	shadow := querying(reading, {"reads": [{"name": "pg_shadow", "qualified": "pg_shadow"}]}, {})
	messages("sql/tables") == {"not to be touched: pg_shadow"} with input as shadow
}

test_sql_tables_denies_writing_protected_tables_and_schemas if {
	every table in [{"name": "sqlite_master", "qualified": "sqlite_master"}, {"name": "x", "qualified": "pg_catalog.x"}] {
		verdicts("sql/tables") == {"deny"} with input as stating(changing, {"effect": "write", "writes": [table]})
		silent("sql/tables") with input as querying(reading, {"reads": [table]}, {})
	}
}

test_sql_tables_knows_them_with_the_name_of_their_database if {
	logins := {"name": "sql_logins", "qualified": "master.sys.sql_logins"}
	verdicts("sql/tables") == {"deny"} with input as querying(reading, {"reads": [logins]}, {})
	catalogued := {"name": "x", "qualified": "shop.pg_catalog.x"}
	verdicts("sql/tables") == {"deny"} with input as stating(changing, {"effect": "write", "writes": [catalogued]})
}

test_sql_tables_is_silent_for_others if {
	own := {"name": "user", "qualified": "app.user"}
	silent("sql/tables") with input as stating(changing, {"effect": "write", "writes": [own], "reads": [own]})
	silent("sql/tables") with input as stating(changing, {"effect": "write", "writes": [{"name": "sys", "qualified": "sys"}]})
	silent("sql/tables") with input as reading
}

test_sql_tables_holds_without_the_other_fields_it_reads if {
	shadow := querying(reading, {"reads": [{"name": "pg_shadow", "qualified": "pg_shadow"}]}, {})
	every field in {"name", "qualified"} {
		path := concat("", ["call/facts/sql/statements/0/reads/0/", field])
		verdicts("sql/tables") == {"deny"} with input as without(shadow, path)
	}
	verdicts("sql/tables") == {"deny"} with input as without(shadow, "call/facts/sql/statements/0/writes")
	verdicts("sql/tables") == {"deny"} with input as without(shadow, "tool")
	count(verdicts("sql/unreadable")) == 1 with input as without(shadow, "call/facts/sql/statements")
}
