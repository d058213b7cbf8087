package interlock.custom_test

import data.interlock.custom

writing(segments) := {
	"tool": {"metadata": {"permission_class": "file"}},
	"call": {"facts": {"file": {"arguments": [{"inside": true, "segments": segments}]}}},
}

denied(document) if "not_a_draft" in {finding.code | some finding in custom.findings with input as document}

without(document, path) := json.patch(document, [{"op": "remove", "path": path}])

test_a_draft_may_be_written if not denied(writing(["drafts", "plan.md"]))

test_anything_else_may_not if {
	denied(writing(["plan.md"]))
	denied(writing(["old", "drafts", "plan.md"]))
}

test_one_path_among_several_is_enough if {
	path := {"inside": true, "segments": ["plan.md"]}
	denied(json.patch(writing(["drafts", "a"]), [{"op": "add", "path": "/call/facts/file/arguments/-", "value": path}]))
}

test_reading_is_not_writing if {
	tool := {"effect": "read_only", "declared": true, "pin_state": "pinned"}
	not denied(object.union(writing(["plan.md"]), {"tool": tool}))
}

test_tools_of_other_classes_are_left_to_other_rules if {
	not denied({"tool": {"metadata": {"permission_class": "bash"}}})
}

test_a_call_without_one_of_the_fields_is_denied if {
	every path in {
		"/tool/metadata/permission_class",
		"/tool/metadata",
		"/tool",
		"/call/facts/file/arguments/0/segments",
		"/call/facts/file/arguments/0/inside",
		"/call/facts/file/arguments/0",
		"/call/facts/file/arguments",
		"/call/facts/file",
		"/call/facts",
		"/call",
	} {
		denied(without(writing(["plan.md"]), path))
	}
}
