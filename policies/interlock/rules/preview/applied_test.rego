package interlock.rules_test

test_preview_applied_allows_the_apply if {
	verdicts("preview/applied") == {"allow"} with input as applying(previewing(changing))
}

test_preview_applied_is_silent_at_the_call if {
	silent("preview/applied") with input as previewing(changing)
}

test_preview_applied_is_silent_without_a_dry_run if {
	silent("preview/applied") with input as applying(changing)
}

test_preview_applied_is_silent_without_the_fields_it_reads if {
	every path in {"call/phase", "call/kind", "tool/safety_level", "call", "tool"} {
		silent("preview/applied") with input as without(applying(previewing(changing)), path)
	}
}
