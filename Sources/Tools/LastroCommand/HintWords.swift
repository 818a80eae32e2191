// SPDX-License-Identifier: Apache-2.0

/// Translates the library's texts to the command line: hints name flags in place of Swift's types and properties.
enum HintWords {
  /// Returns a text of the library in the words of the program.
  static func text(_ text: String) -> String {
    table.reduce(text) { text, pair in text.replacing(pair.library, with: pair.program) }
  }

  typealias Pair = (library: String, program: String)

  /// The replacements in order: an entry that contains another one comes before it.
  static let table: [Pair] = times + limits + connections + requests + streams + files

  private static let times: [Pair] = [
    ("Timeouts.total or the Pacer's maximumWait", "-m"),
    ("Timeouts.total", "-m"), ("the parameter total of pages", "-m"), ("the parameter total of wait", "-m"),
    ("GeminiConfiguration.totalTimeout", "--timeout"), ("GeminiConfiguration.headerTimeout", "--timeout"),
    ("GeminiConfiguration.idleTimeout", "--idle-timeout"), ("raise refreshTimeout", "raise -m"),
    ("Timeouts.attempt", "--attempt-timeout"), ("Timeouts.idle", "--idle-timeout"),
    ("set the parameter firstEvent or firstText", "raise --idle-timeout"),
    ("the parameter firstEvent", "--idle-timeout"),
    ("Timeouts.connect", "--connect-timeout"), ("raise connectTimeout", "raise --connect-timeout"),
    ("give a positive one, or nil for no limit", "give a positive one"),
    ("longer than StackConfiguration.maximumRetryAfter", "longer than the limit"),
    (" (StackConfiguration.maximumAttempts)", ""), (" (StackConfiguration.retryQuota)", ""),
  ]

  private static let limits: [Pair] = [
    ("raise maximumBodyBytes, or stream the body", "raise --max-filesize"),
    ("stream the body, or lower maximumBodyBytes", "lower --max-filesize"),
    ("raise the limit, or stream the body", "raise --max-filesize"),
    ("raise maximumBytes if so much is expected", "raise --max-filesize if so much is expected"),
    ("raise maximumHeadBytes or maximumHeaderFields if the server is trusted", unbounded),
    ("raise maximumHeadBytes if the server is trusted", unbounded),
    ("raise maximumHeaderFields if the server is trusted", unbounded),
    ("raise maximumInterimResponses if the server is trusted", unbounded),
    ("raise maximumContentCodings if the server is trusted", "--raw takes the body as it is coded"),
    ("raise maximumDecompressionRatio if the server is trusted", "--raw takes the body as it is coded"),
    ("raise maximumWindowBytes, receive fewer bodies", "receive fewer bodies"),
    ("send less at once, or raise maximumQueuedRequests", "send less at once: lower --concurrency"),
    ("raise WebSocketConfiguration.maximumMessageBytes, or read fragments", "raise --max-message"),
    ("WebSocketConfiguration.maximumMessageBytes", "--max-message"),
    ("raise maximumEventBytes", unbounded),
    (
      "raise maximumPages, or continue with FetchedPage.next of the last page",
      "continue from the URL of the last page"
    ),
    ("raise that timeout or connectionsPerHost, or send less at once", "raise that timeout, or send less at once"),
    ("ask for fewer at once, or keep answers with CachingResolver", "ask for fewer at once"),
  ]

  private static let unbounded = "the server has to send less: the program has no flag for this limit"

  private static let connections: [Pair] = [
    ("set httpVersion to .http1, where maximumHeadBytes is the only limit", "use --http1.1"),
    ("set httpVersion to .automatic", "leave --http2 out"), ("set httpVersion to .http1", "use --http1.1"),
    ("give the issuing root with TLSOptions.roots", "give the issuing root by --cacert"),
    ("TLSOptions.roots", "--cacert"), ("TLSOptions.identity", "--cert"),
    ("go into cipherSuites, older ones into legacyCiphers", "go into --tls13-ciphers, older ones into --ciphers"),
    ("leave it nil for OpenSSL's choice", "leave the flag out for OpenSSL's choice"),
    ("allow them there, or set minimumVersion to one that is allowed", "allow them there"),
    ("raise maximumVersion, or lower minimumVersion", "raise --tls-max, or leave --tlsv1.3 out"),
    ("TLS.serverName", "--server-name"), ("requiresStapledStatus asks for it", "--cert-status asks for it"),
    ("leave requiresStapledStatus out", "leave --cert-status out"),
    ("set proxies in ConnectionOptions", "use -x"),
    ("use ConnectionOptions.resolve(_:port:to:), or --resolve", "use --resolve"),
    ("ConnectionOptions.resolve(_:port:to:)", "--resolve"),
    ("leave unixSocketPath nil", "leave --unix-socket out"), ("leave unixSocketPath out", "leave --unix-socket out"),
    ("check the name, and what ConnectionOptions.resolver returns for it", "check the name"),
    ("leave it out, and choose the interface in ConnectionOptions", "leave it out"),
    ("check ConnectionOptions.localInterface", "check this machine's interfaces"),
    ("for datagrams set localInterface to", "for datagrams give"),
  ]

  private static let requests: [Pair] = [
    ("look at the request's authenticator", "look at -u, --bearer and -H"),
    (
      "use HTTPResource.ifModified(since:), whose value is nil if nothing changed",
      "nothing has changed; leave If-None-Match and If-Modified-Since out to get it again"
    ),
    ("raise RedirectPolicy's limit if that is right", "raise --max-redirs if that is right"),
    ("set RedirectPolicy.follow(allowsInsecure: true) to allow it", "fetch the http URL by itself, if it may be read"),
    (
      "give a replayable body: bytes, a file, or a sequence that can be opened again",
      "send a file in place of standard input"
    ),
    ("mark the request idempotent to allow sending it again", "--retry-all sends it again"),
    ("only with an Idempotency-Key, or if it is .idempotent", "only with an Idempotency-Key, or with --retry-all"),
    ("use https, or set allowsInsecureOrigins: true to send them anyway", "use https"),
    ("name that origin in the parameter origins if it may have the request's credentials", "fetch that URL by itself"),
    ("use WebSocketClient", "use lastro ws"),
    (
      "leave it out: over HTTP/1.1 a stream of unknown length is sent in chunks",
      "leave it out: -T - and -d send in chunks where -H asks for it"
    ),
    ("fetch without it: RequestOptions.cache = .noStore", "fetch without --cache"),
    (": set RequestOptions.principal", ""),
    ("CookieJar(acceptsNameless: true) takes cookies without one", "the program takes none without"),
  ]

  private static let streams: [Pair] = [
    ("connect again, or use reconnecting(to:)", "connect again"),
    ("connect again; close() ends it cleanly", "connect again"),
    ("set subprotocols and compression in the configuration", "use --subprotocol and --deflate"),
    ("raise maximumReconnections, or look at the server", "look at the server"),
    ("give the identifier of an event, as ServerSentEvent.lastEventID has it", "give the id of an event"),
    ("the parameter lastEventID", "--last-event-id"),
    (
      "ask again; GeminiConfiguration.toleratesTruncation lets servers pass that always do so",
      "ask again, and compare what comes"
    ),
    (
      "set GeminiConfiguration.followsRedirectsAcrossHosts to follow redirects within Gemini",
      "ask for the other URL by itself"
    ),
    ("; GeminiTrust.firstUse(checksHostName: false) does not check it", ""),
    (
      "set GeminiConfiguration.maximumRedirects to 0 to receive the redirect as the response",
      "ask for the other URL by itself"
    ),
    ("raise GeminiConfiguration.maximumRedirects", "raise --max-redirects"),
  ]

  private static let files: [Pair] = [
    ("download it when it does not change, or raise maximumRestarts", "download it when it does not change"),
    (
      "add a policy for it, or set allowNotPinnedDomains",
      "give it a pin by --pin, or a policy in the file of --pin-policy"
    ),
    ("PinningPolicy.excluding excludes a host", "the mode off excludes a host"),
    ("use .never for no expiration", "leave expires out for no expiration"),
    ("add one, or leave the ServerTrustEvaluator out", "add one"),
  ]
}
