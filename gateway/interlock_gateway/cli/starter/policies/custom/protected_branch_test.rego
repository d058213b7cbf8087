package interlock.custom_test

import data.interlock.custom

push(arguments) := {"tool": {"name": "git_push"}, "call": {"input": arguments}}

push_denied(document) if "protected_branch" in {finding.code | some finding in custom.findings with input as document}

test_a_push_to_a_protected_branch_is_denied if push_denied(push({"branch": "main"}))

test_a_push_without_a_branch_is_denied if push_denied(push({}))

test_a_push_to_another_branch_is_nothing_to_this_rule if not push_denied(push({"branch": "topic"}))

test_another_tool_is_nothing_to_this_rule if not push_denied({"tool": {"name": "read"}})
