// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroCommand

/// Tests that hints of the library are printed with the names of command-line flags.
@Suite("Hints of the command line")
struct HintWordsTests {
  /// The hints of the library, and the texts that the program prints for them.
  private static let hints: [(library: String, program: String)] = [
    (
      "`openssl ciphers -v` lists them; those of TLS 1.3 go into cipherSuites, older ones into legacyCiphers",
      "`openssl ciphers -v` lists them; those of TLS 1.3 go into --tls13-ciphers, older ones into --ciphers"
    ),
    (
      "add a policy for it, or set allowNotPinnedDomains",
      "give it a pin by --pin, or a policy in the file of --pin-policy"
    ),
    ("raise maximumVersion, or lower minimumVersion", "raise --tls-max, or leave --tlsv1.3 out"),
    ("raise maximumReconnections, or look at the server", "look at the server"),
    (
      "ask again; GeminiConfiguration.toleratesTruncation lets servers pass that always do so",
      "ask again, and compare what comes"
    ),
    ("ask for fewer at once, or keep answers with CachingResolver", "ask for fewer at once"),
    (
      "use HTTPResource.ifModified(since:), whose value is nil if nothing changed",
      "nothing has changed; leave If-None-Match and If-Modified-Since out to get it again"
    ),
    ("check ConnectionOptions.localInterface", "check this machine's interfaces"),
    ("check the host in the URL, or TLS.serverName", "check the host in the URL, or --server-name"),
    ("check the name, and what ConnectionOptions.resolver returns for it", "check the name"),
    ("connect again, or use reconnecting(to:)", "connect again"),
    ("download it when it does not change, or raise maximumRestarts", "download it when it does not change"),
    (
      "find what makes the store hang, or fetch without it: RequestOptions.cache = .noStore",
      "find what makes the store hang, or fetch without --cache"
    ),
    ("give a positive one, or nil for no limit", "give a positive one"),
    (
      "give a replayable body: bytes, a file, or a sequence that can be opened again",
      "send a file in place of standard input"
    ),
    (
      "give it a name; CookieJar(acceptsNameless: true) takes cookies without one",
      "give it a name; the program takes none without"
    ),
    (
      "give one with TLSOptions.identity, from an authority that the server trusts",
      "give one with --cert, from an authority that the server trusts"
    ),
    ("give the identifier of an event, as ServerSentEvent.lastEventID has it", "give the id of an event"),
    (
      "give the issuing root with TLSOptions.roots, or install it in the system's bundle; the server has to send the intermediate certificates",
      "give the issuing root by --cacert, or install it in the system's bundle; the server has to send the intermediate certificates"
    ),
    (
      "it may be revoked, or the server does not staple; requiresStapledStatus asks for it",
      "it may be revoked, or the server does not staple; --cert-status asks for it"
    ),
    (
      "its owner has to name the host in it; GeminiTrust.firstUse(checksHostName: false) does not check it",
      "its owner has to name the host in it"
    ),
    ("leave it out, and choose the interface in ConnectionOptions", "leave it out"),
    (
      "leave it out: over HTTP/1.1 a stream of unknown length is sent in chunks",
      "leave it out: -T - and -d send in chunks where -H asks for it"
    ),
    (
      "leave it out; for a host at another address, use ConnectionOptions.resolve(_:port:to:), or --resolve",
      "leave it out; for a host at another address, use --resolve"
    ),
    ("leave unixSocketPath nil", "leave --unix-socket out"),
    ("leave unixSocketPath out, or dial without the proxy", "leave --unix-socket out, or dial without the proxy"),
    ("look at the source, or raise refreshTimeout", "look at the source, or raise -m"),
    ("name that origin in the parameter origins if it may have the request's credentials", "fetch that URL by itself"),
    (
      "set the parameter firstEvent or firstText, if the server needs that long",
      "raise --idle-timeout, if the server needs that long"
    ),
    (
      "raise maximumEventBytes",
      "the server has to send less: the program has no flag for this limit"
    ),
    (
      "raise GeminiConfiguration.headerTimeout, if the server is known to be slow",
      "raise --timeout, if the server is known to be slow"
    ),
    (
      "raise GeminiConfiguration.maximumRedirects, if the server is known to need more",
      "raise --max-redirects, if the server is known to need more"
    ),
    (
      "raise maximumPages, or continue with FetchedPage.next of the last page",
      "continue from the URL of the last page"
    ),
    ("raise RedirectPolicy's limit if that is right", "raise --max-redirs if that is right"),
    (
      "raise Timeouts.attempt, or find the cause of the delay",
      "raise --attempt-timeout, or find the cause of the delay"
    ),
    ("raise Timeouts.idle if such a pause is expected", "raise --idle-timeout if such a pause is expected"),
    ("raise Timeouts.total, or find the cause of the delay", "raise -m, or find the cause of the delay"),
    ("raise WebSocketConfiguration.maximumMessageBytes, or read fragments", "raise --max-message"),
    (
      "raise connectTimeout, or check host, port and network",
      "raise --connect-timeout, or check host, port and network"
    ),
    ("raise maximumBodyBytes, or stream the body", "raise --max-filesize"),
    ("raise maximumDecompressionRatio if the server is trusted", "--raw takes the body as it is coded"),
    (
      "raise maximumHeadBytes or maximumHeaderFields if the server is trusted",
      "the server has to send less: the program has no flag for this limit"
    ),
    ("raise that timeout or connectionsPerHost, or send less at once", "raise that timeout, or send less at once"),
    ("send less at once, or raise maximumQueuedRequests", "send less at once: lower --concurrency"),
    ("send less often, or raise Timeouts.total or the Pacer's maximumWait", "send less often, or raise -m"),
    (
      "set GeminiConfiguration.followsRedirectsAcrossHosts to follow redirects within Gemini",
      "ask for the other URL by itself"
    ),
    (
      "set GeminiConfiguration.maximumRedirects to 0 to receive the redirect as the response",
      "ask for the other URL by itself"
    ),
    ("set RedirectPolicy.follow(allowsInsecure: true) to allow it", "fetch the http URL by itself, if it may be read"),
    ("set httpVersion to .http1", "use --http1.1"),
    ("set proxies in ConnectionOptions", "use -x"),
    ("set subprotocols and compression in the configuration", "use --subprotocol and --deflate"),
    ("stream the body, or lower maximumBodyBytes", "lower --max-filesize"),
    (
      "the credentials are missing, wrong or expired: look at the request's authenticator",
      "the credentials are missing, wrong or expired: look at -u, --bearer and -H"
    ),
    (
      "the server may have acted on it; mark the request idempotent to allow sending it again",
      "the server may have acted on it; --retry-all sends it again"
    ),
    (
      "the server may not speak HTTP/2 without TLS: set httpVersion to .automatic",
      "the server may not speak HTTP/2 without TLS: leave --http2 out"
    ),
    ("use WebSocketClient", "use lastro ws"),
    ("use https, or set allowsInsecureOrigins: true to send them anyway", "use https"),
    ("longer than StackConfiguration.maximumRetryAfter", "longer than the limit"),
    (" (StackConfiguration.maximumAttempts)", ""),
    ("only with an Idempotency-Key, or if it is .idempotent", "only with an Idempotency-Key, or with --retry-all"),
  ]

  /// Matches text that looks like a Swift name.
  private static var swift: Regex<Substring> {
    #/\b[a-z]+[A-Z][A-Za-z]*|\b[A-Z][A-Za-z]+[a-z]\.[a-z]+|(?:^| )\.[a-z]+|\bnil\b/#
  }

  @Test("A hint names the flag that does what the library's property does")
  func translations() {
    for hint in Self.hints { #expect(HintWords.text(hint.library) == hint.program) }
  }

  @Test("A hint without Swift names is printed unchanged")
  func unchanged() {
    for hint in ["write HOST:PORT, or leave the port out", "report it to the server's owner", "dial again"] {
      #expect(HintWords.text(hint) == hint)
    }
  }

  @Test("Replacements contain no Swift names and do not affect each other")
  func table() {
    #expect(!HintWords.table.isEmpty)
    for row in HintWords.table {
      let text = HintWords.text(row.library)
      #expect(text.firstMatch(of: Self.swift) == nil, "\(row.library) → \(text)")
      #expect(text == row.program, "an earlier row changes \(row.library)")
    }
  }
}
