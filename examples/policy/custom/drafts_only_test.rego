package interlock.custom_test

import data.interlock.custom

writing_file(segments) := {"call": {"facts": {
	"class": "file",
	"file": {"arguments": [{"inside": true, "segments": segments}]},
}}}

draft_refused(document) if "not_a_draft" in {finding.code | some finding in custom.findings with input as document}

draft_without(document, path) := json.patch(document, [{"op": "remove", "path": path}])

test_a_draft_may_be_written if not draft_refused(writing_file(["drafts", "plan.md"]))

test_anything_else_may_not if {
	draft_refused(writing_file(["plan.md"]))
	draft_refused(writing_file(["old", "drafts", "plan.md"]))
}

test_one_path_among_several_is_enough if {
	path := {"inside": true, "segments": ["plan.md"]}
	draft_refused(json.patch(writing_file(["drafts", "a"]), [{"op": "add", "path": "/call/facts/file/arguments/-", "value": path}]))
}

test_reading_is_not_writing if {
	tool := {"effect": "read_only", "declared": true, "pin_state": "pinned"}
	not draft_refused(object.union(writing_file(["plan.md"]), {"tool": tool}))
}

test_tools_of_other_classes_are_left_to_other_rules if {
	not draft_refused({"call": {"facts": {"class": "bash"}}})
}

test_a_call_without_one_of_the_fields_is_denied if {
	every path in {
		"/call/facts/class",
		"/call/facts/file/arguments/0/segments",
		"/call/facts/file/arguments/0/inside",
		"/call/facts/file/arguments/0",
		"/call/facts/file/arguments",
		"/call/facts/file",
		"/call/facts",
		"/call",
	} {
		draft_refused(draft_without(writing_file(["plan.md"]), path))
	}
}
