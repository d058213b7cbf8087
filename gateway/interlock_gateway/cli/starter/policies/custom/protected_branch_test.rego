package interlock.custom_test

import data.interlock.custom

push(arguments) := {"tool": {"name": "git_push"}, "call": {"input": arguments}}

codes(document) := {finding.code | some finding in custom.findings with input as document}

test_a_push_to_a_protected_branch_is_denied if "protected_branch" in codes(push({"branch": "main"}))

test_a_push_without_a_branch_is_denied if "protected_branch" in codes(push({}))

test_a_push_to_another_branch_is_nothing_to_this_rule if codes(push({"branch": "topic"})) == set()

test_another_tool_is_nothing_to_this_rule if codes({"tool": {"name": "read"}}) == set()
