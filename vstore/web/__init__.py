"""The testers' page: a browser, or a bot, answers the tests that a case waits for.

==================  ==================================================================
``service_folder``  where the service keeps its own data, beside the workspace
``database``        the service's SQLite database; ``migrations`` its tables
``times``           instants as text, and as seconds to calculate with
``problems``        refusals that only a service makes
``passwords``       argon2id
``accounts``        testers and administrators by name
``enrolment``       one-time codes that a person turns into a password
``sessions``        who is logged in
``tokens``          what bots show instead of a password
``standings``       where each account stands, for those who look after them
``rates``           how often something was tried
``audit``           who did what when
``desk``            the work on a test, without HTTP: what pages and the API call
``board``           the tests of all cases, as their packages have them
``claims``          who does a test: leases and fencing tokens; ``declines`` who won't
``draft_content``   what a form holds, and the answer that it comes to
``draft_store``     drafts, their revisions, texts that came too late
``uploads``         files that arrive; ``upload_writer`` one of them, ``upload_policy`` limits,
                    ``upload_table`` what is known of them
``confirming``      preview and confirmation; ``journal`` what was begun, ``recovery`` ends it
``desk_tables``     the tables of all that
``app``             the application; ``routes`` its addresses, ``settings`` how it is reached
``security``        headers, host, origin and size of every request; ``identity`` who asks
``handlers``        forms and roles before a page; ``login_again`` when a session has ended
``rendering``       templates; ``words`` languages, ``local_times`` time zones
``error_pages``     every error as a page, or as JSON
``statuses``        the HTTP status of an error
``api``             what bots may do; ``api_documents`` the bodies, ``api_views`` their making
``api_frame``       tokens, bodies, parameters, problems; ``api_routes`` the addresses
``openapi``         the API's description, rendered from its operations
``login_pages``     logging in and enrolling; ``account_pages``, ``admin_pages``
==================  ==================================================================

It needs the extra ``vstore[web]``; nothing outside this package imports what that brings.
Nothing here is evidence: what a tester confirms goes into the package through the same
services that the command line uses, and is checked there as the answer of a stranger.
"""

__all__: list[str] = []
