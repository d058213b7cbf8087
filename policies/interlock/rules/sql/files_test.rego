package interlock.rules_test

test_sql_files_denies_what_touches_files_and_programs if {
	every field in {"files", "programs"} {
		copying := stating(changing, {"kind": "copy", "effect": "write", "text": "COPY t", field: true})
		verdicts("sql/files") == {"deny"} with input as copying
		message := "has the database reach files, programs or other servers: COPY t"
		messages("sql/files") == {message} with input as copying
	}
}

test_sql_files_denies_the_listed_functions_and_families if {
	every name in {"pg_read_file", "load_extension", "openrowset", "dblink_exec", "xp_cmdshell", "lo_import", "sys_exec"} {
		verdicts("sql/files") == {"deny"} with input as querying(reading, {"functions": ["count", name]}, {})
	}
}

test_sql_files_denies_the_listed_functions_as_tables if {
	every part in {"reads", "writes"} {
		files := {part: [{"name": "fsdir", "qualified": "fsdir"}]}
		verdicts("sql/files") == {"deny"} with input as querying(reading, files, {})
		silent("sql/files") with input as querying(reading, {part: [{"name": "sys_log", "qualified": "sys_log"}]}, {})
	}
}

test_sql_files_denies_tables_of_other_servers if {
	every part in {"reads", "writes"} {
		verdicts("sql/files") == {"deny"} with input as querying(reading, {part: [{"name": "t", "qualified": "l.d.dbo.t"}]}, {})
		silent("sql/files") with input as querying(reading, {part: [{"name": "t", "qualified": "d.dbo.t"}]}, {})
	}
}

test_sql_files_denies_the_listed_statements if {
	extending := stating(changing, {"kind": "create", "object": "extension", "effect": "schema"})
	verdicts("sql/files") == {"deny"} with input as extending
}

test_sql_files_is_silent_for_others if {
	silent("sql/files") with input as querying(reading, {"functions": ["count", "lower"]}, {})
	silent("sql/files") with input as stating(changing, {"kind": "create", "object": "table", "effect": "schema"})
	silent("sql/files") with input as reading
}

test_sql_files_holds_without_the_fields_it_reads if {
	every field in {"files", "programs", "functions"} {
		path := concat("", ["call/facts/sql/statements/0/", field])
		verdicts("sql/files") == {"deny"} with input as without(querying(reading, {}, {}), path)
	}
	every field in {"kind", "object", "text"} {
		path := concat("", ["call/facts/sql/statements/0/", field])
		verdicts("sql/files") == {"deny"} with input as without(querying(reading, {"files": true}, {}), path)
	}
	verdicts("sql/files") == {"deny"} with input as without(querying(reading, {"files": true}, {}), "tool")
}
