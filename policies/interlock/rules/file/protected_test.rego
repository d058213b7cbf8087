package interlock.rules_test

in_git := {"given": ".git/config", "segments": [".git", "config"], "name": "config", "given_name": "config"}

test_file_protected_denies_writing if {
	every argument in [in_git, named(".bashrc"), named(".GITMODULES"), named("authorized_keys")] {
		verdicts("file/protected") == {"deny"} with input as touching(changing, argument)
		verdicts("file/protected") == {"deny"} with input as touching(destroying, argument)
	}
	messages("file/protected") == {"protected: .git/config"} with input as touching(changing, in_git)
}

test_file_protected_looks_at_the_links_that_a_file_is_called_by if {
	linked := {"given": "web/.GIT/hooks/x", "segments": ["hooks", "x"], "name": "x", "given_name": "x", "symlink": true}
	call := touching(changing, linked)
	verdicts("file/protected") == {"deny"} with input as call
	verdicts("file/protected") == {"deny"} with input as without(call, "call/facts/file/arguments/0/symlink")
	messages("file/protected") == {"protected: web/.GIT/hooks/x"} with input as call
	silent("file/protected") with input as touching(changing, object.union(linked, {"symlink": false}))
}

test_file_protected_lets_reading_through if {
	silent("file/protected") with input as touching(reading, in_git)
}

test_file_protected_is_silent_for_other_files if {
	silent("file/protected") with input as touching(changing, {})
	silent("file/protected") with input as touching(changing, named(".gitignore"))
	silent("file/protected") with input as changing
}

test_file_protected_holds_without_the_other_fields_it_reads if {
	every path in {"tool/effect", "tool/declared", "tool/pin_state", "tool/metadata", "call/facts/file/arguments/0/given"} {
		verdicts("file/protected") == {"deny"} with input as without(touching(changing, in_git), path)
	}
	every field in {"name", "segments"} {
		path := concat("/", ["call/facts/file/arguments/0", field])
		verdicts("file/protected") == {"deny"} with input as without(touching(changing, named(".bashrc")), path)
	}
	verdicts("file/protected") == {"deny"} with input as without(touching(changing, in_git), "call/facts/file/arguments/0/name")
}

test_file_protected_is_followed_by_another_rule_when_its_facts_are_missing if {
	every path in {"call/facts/file", "call/facts/extracted", "call/facts"} {
		verdicts("file/unknown") == {"deny"} with input as without(touching(changing, in_git), path)
	}
}
