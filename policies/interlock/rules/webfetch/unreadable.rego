package interlock.rules.webfetch

# METADATA
# title: URLs that cannot be read
# description: A call that fetches is refused when it is not known where its URLs lead.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "url_unreadable",
	"message": sprintf("it is not known where the URL leads%s", [problem_shown]),
	"rule": "webfetch/unreadable",
} if {
	not readable
}

readable if {
	count(fetch.urls) > 0
	every url in fetch.urls {
		url.error == null
		is_string(url.scheme)
		is_string(url.reach)
		is_array(url.domains)
	}
}

default problem_shown := ""

problem_shown := concat("", [": ", problem]) if problem := input.call.facts.error
