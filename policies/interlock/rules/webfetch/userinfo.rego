package interlock.rules.webfetch

# METADATA
# title: Names and passwords in URLs
# description: A URL with a user or a password before its host is refused. It leaks what it holds, or hides the host.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "url_userinfo",
	"message": "the URL has a user or a password in it",
	"rule": "webfetch/userinfo",
} if {
	fetch
	not without_userinfo
}

without_userinfo if {
	every url in fetch.urls {
		url.userinfo == false
	}
}
