package interlock.rules.bash

# METADATA
# title: Searching where secrets lie
# description: |
#   A person decides about a search through directories that reads files which may hold secrets, or more files than are
#   looked at.
# custom:
#   requirements: [PIPE-5, POL-4]
hazard_findings contains {
	"verdict": "checkpoint",
	"code": "bash_search",
	"message": sprintf("searches files that may hold secrets%s; leave them out with --exclude, say which with --include, or name a directory further down", [found_shown]),
	"rule": "bash/searches",
} if {
	some search in script.searches
	not quiet(search)
}

default found_shown := ""

found_shown := sprintf(": %s", [data.interlock.rules.shown(found_in_searches)]) if count(found_in_searches) > 0

found_in_searches contains name if {
	some search in script.searches
	some name in secrets_in(search)
}
