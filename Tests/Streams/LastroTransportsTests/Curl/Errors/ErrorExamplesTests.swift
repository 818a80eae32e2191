// SPDX-License-Identifier: Apache-2.0

import CLastro
import FoundationEssentials
import Glibc
import HTTPTypes
import LastroStreamsTesting
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroCurl
@testable import LastroEveryday
@testable import LastroGemini
@testable import LastroHTTP
@testable import LastroResilience
@testable import LastroTransports
@testable import LastroTunnels
@testable import LastroWebSocket
@testable import LastroWire

/// Full texts of errors, a few of each family: the values that they interpolate, quote, count and mask.
@Suite("Error texts", .timeLimit(.minutes(15)))
struct ErrorExamplesTests {
  @Test("Errors for hosts and URLs quote a bounded part of the input, and mask user information")
  func urls() async {
    await expectTexts(
      #"""
      the label "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…" of the host is longer than 63 bytes in ASCII (shorten it; a label ends at a dot)
      the host has the character U+2603, which host names cannot have (use letters, marks, digits and hyphens; RFC 5892)
      request/invalid_url: the URL has a control character in it: "https://a\nb" (remove it, or percent-encode it)
      request/invalid_url: the URL has user information in it: "https://***@example.com" (remove the part before @, and give credentials in an Authorization header field)
      request/invalid_url: the URL has no scheme: "mailto:***" (begin it with https:// or http://)
      request/invalid_url: port 70000 in the URL is not a number from 1 to 65535: "https://a:70000" (write HOST:PORT, or leave the port out)
      cannot read an origin: the URL has no scheme: "example.com" (begin it with https:// or http://)
      """#,
      of: [
        { try HostName(String(repeating: "a", count: 64)) }, { try HostName("\u{2603}") },
        { try ResourceRequest(url: "https://a\nb") }, { try ResourceRequest(url: "https://user:secret@example.com") },
        { try ResourceRequest(url: "mailto:a") }, { try ResourceRequest(url: "https://a:70000") },
        { try Origin("example.com") },
      ])
  }

  @Test("Errors for requests name the field, the file or the limit, and both of two values that contradict each other")
  func requests() async throws {
    let good = try ResourceRequest(url: "https://example.com/a")
    func field(_ name: HTTPField.Name, _ value: String) -> () async throws -> Any {
      var request = good
      request.head.headerFields[name] = value
      return { [request] in try RequestCheck.check(request) }
    }
    await expectTexts(
      """
      request/conflicting_framing: Content-Length is 7, and the body's length 0 (leave the field out: the body knows its length; give a stream's length where the body is made)
      request/conflicting_framing: the engine sets the header field Upgrade itself (leave it out)
      request/invalid_header: "a b" cannot be the name of a header field (letters, digits and !#$%&'*+-.^_`|~ are allowed)
      request/invalid_header: the request has 1000 header fields, above the maximum of 999 (send fewer)
      request/invalid_body: cannot read the body's file /nowhere/body: No such file or directory (check the path, and that this process may read it)
      request/invalid_url: the secret for the path is a dot segment (give one that is not empty, "." or "..")
      the attempt timeout (9 s) exceeds the total timeout (3 s) (a partial limit cannot exceed the enclosing one: raise total or lower attempt)
      a retry quota of capacity 0 with costs 14 and 5 cannot work (give a capacity of 1 or more, and costs of 0 or more)
      """,
      of: [
        field(.contentLength, "7"), field(.upgrade, "h2c"), { try RawHeaders([("a b", "c")]).checkedFields() },
        { try RawHeaders(Array(repeating: ("A", "b"), count: 1000)).checkedFields() },
        { try RequestBody.file(path: "/nowhere/body") },
        {
          var request = good
          try request.appendPathSegment("..")
          return request
        }, { try Timeouts(attempt: .seconds(9), total: .seconds(3)) }, { try RetryQuota(capacity: 0) },
      ])
  }

  @Test("Errors for redirects name the limit, or the host to which a redirect would have led")
  func redirects() async {
    func redirect(to location: String, limit: Int = 9, rounds: Int = 1) -> () async throws -> Any {
      {
        var tracker = RedirectTracker()
        let head = HTTPResponse(status: .temporaryRedirect, headerFields: [.location: location])
        var request = try ResourceRequest(url: "https://a.example/")
        for _ in 0..<rounds {
          request = try tracker.next(after: head, to: request, policy: .follow(limit: limit)) ?? request
        }
        return request
      }
    }
    await expectTexts(
      """
      redirect/too_many_redirects: the server redirects more often than the limit of 2 allows (raise RedirectPolicy's limit if that is right)
      redirect/invalid_redirect: the server redirects to a location that cannot be followed: the scheme ftp is not supported: "ftp://b.example/" (report it to the server's owner)
      redirect/insecure_redirect: the server redirects from https to http, to b.example (set RedirectPolicy.follow(allowsInsecure: true) to allow it)
      redirect/redirect_loop: redirect 1 leads back to a.example/ (the server's owner has to fix it; the server may expect a cookie or credentials)
      """,
      of: [
        redirect(to: "b/", limit: 2, rounds: 3), redirect(to: "ftp://b.example/"), redirect(to: "http://b.example/"),
        redirect(to: "/"),
      ])
  }

  @Test("Errors for credentials say where they would have gone, and never what they are")
  func credentials() async throws {
    let origins = [try Origin("https://api.example")]
    let insecure = [try Origin("http://api.example")]
    await expectTexts(
      """
      the credentials would go to http://api.example without encryption (use https, or set allowsInsecureOrigins: true to send them anyway)
      the password has a control character in it (remove it: a password read from a file often ends with a newline)
      the access token has a character that is not visible ASCII (give the token alone, without "Bearer", blanks or a line end)
      the client's secrets would go to http://id.example without encryption (use https, or set allowsInsecureTokenURL: true to send them anyway)
      http/token_refused: the access token is missing, as the token endpoint refused with 400 invalid_client: no (check the client's id and secret, and how the endpoint expects them: OAuth2Client.Authentication)
      limit/token_unavailable: the access token is missing, as 5 refreshes within 30 s gave no token that is accepted and lasts (check clock, lifetime, audience, scope)
      """,
      of: [
        { try BasicAuthenticator(user: "u", password: "p", origins: insecure) },
        { try BasicAuthenticator(user: "u", password: "p\n", origins: origins) }, { try AccessToken("a b") },
        { try OAuth2Client(tokenURL: "http://id.example", id: "id", authentication: .basic("s")) },
        {
          throw OAuth2Error.refused(.badRequest, error: "invalid_client", description: "no").failure
        }, { throw AccessTokenError.excessiveRefresh(5).failure },
      ])
  }

  @Test("Errors for pins quote the pin or the member of the file, and a refused server is named with its policy")
  func pins() async throws {
    let pins = ["A", "B"].map { "sha256/" + String(repeating: $0, count: 43) + "=" }
    let keys = try ["D", "E", "F"].map { try #require(SPKIHash("sha256/" + String(repeating: $0, count: 43) + "=")) }
    let trust = ServerTrust(host: try HostName("a.example"), chain: keys.map { PeerCertificate(der: [], pin: $0) })
    let policy = try PinningPolicy("a.example", pins: pins)
    func refused(_ reason: TrustFailure.Reason) -> () async throws -> Any {
      { throw TransportError.refusedTrust(TrustFailure(reason, trust: trust, policy: policy)) }
    }
    await expectTexts(
      #"""
      the domain name "*.example.com" has a wildcard (write the name alone, and includeSubdomains: true)
      these pins cannot be read: "x" (write sha256/ and the Base64 of 32 bytes: sha256/r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=)
      the pinning configuration: policies[0] has to be an object, and is a number (write it in JSON's notation)
      trust/pin_mismatch: a.example:443 was refused: none of the 3 keys of its verified chain is in the pinning policy for a.example (if the server's keys were changed on purpose, add the new one to the policy; if not, an attacker may be intercepting the connection)
      trust/policy_expired: a.example:443 was refused: the pinning policy for a.example expired at 1970-01-01T00:00:00Z (renew the policy: check its pins and set a later date)
      trust/trust_refused: a.example:443 was refused by the application's own judge: not on my list
      """#,
      of: [
        { try PinningPolicy("*.example.com", pins: pins) }, { try PinningPolicy("a.example", pins: ["x"]) },
        { try ServerTrustEvaluator.Configuration(json: Data(#"{"policies": [1]}"#.utf8)) }, refused(.noPinMatches),
        refused(.policyExpired(Date(timeIntervalSince1970: 0))), refused(.refused("not on my list")),
      ])
  }

  @Test("Errors for failed transfers name the server, the limit with its unit, and the time that passed")
  func transfers() async {
    let request = TransferRequest(
      head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/"),
      connectTimeout: .seconds(10), idleTimeout: .seconds(60), deadline: .seconds(29), wholeTimeout: .seconds(30))
    let errors: [TransportError] = [
      .bodyTooLarge(9, announced: 99), .decompressionBomb(ratio: 100, delivered: 99), .connectTimedOut(request),
      .expiredInQueue(request), .sourceTooShort(2, of: 3), .unknownContentCoding("br", accepted: ["gzip", "deflate"]),
      .receivingFailed("a.example:443", ECONNRESET, CURLE_RECV_ERROR), .noAddress(of: "a.example", EAI_NONAME),
      .unreadableIdentity("/nowhere/a.pem", .system(ENOENT)),
    ]
    let texts = """
      limit/body_too_large: the server announces a body of 99 bytes, and at most 9 are taken (raise maximumBodyBytes, or stream the body)
      limit/decompression_bomb: the compressed body expands to more than 100 times its size, after 99 bytes (raise maximumDecompressionRatio if the server is trusted)
      timeout/connect_timeout: connecting to a.example took longer than 10 s (raise the connect timeout, or check host, port and network)
      timeout/total_timeout: the total timeout of 30 s passed while the request waited for a connection (raise that timeout or connectionsPerHost, or send less at once)
      request/invalid_body: the body ended after 2 of the 3 bytes announced (announce the true length, or none)
      response/bad_content_encoding: the body has the content coding "br", which was not asked for (only gzip, deflate) (add the coding to those of the engine, or set Accept-Encoding yourself to get the bytes as they are sent)
      response/receive_failed: receiving from a.example:443 failed: Connection reset by peer (dial again: the server or the network cut the connection)
      resolve/host_not_found: cannot resolve a.example: Name or service not known (check the name, and DNS on this machine)
      tls/invalid_tls_configuration: the client certificate's file /nowhere/a.pem cannot be read: No such file or directory (give a readable PEM file)
      """
    await expectTexts(texts, of: errors.map { error -> () async throws -> Any in { throw error } })
  }

  @Test("Errors for protocol violations say what the server sent")
  func violations() async {
    func frames(_ bytes: [UInt8]) -> () async throws -> Any {
      {
        var decoder = WebSocketDecoder(
          .init(
            role: .client, deflate: nil, maximumFrameBytes: .max, maximumMessageBytes: nil, maximumPieceBytes: 9_999))
        do throws(WebSocketViolation) {
          bytes.withUnsafeBytes { decoder.receive($0) }
          while try decoder.next() != nil {}
        } catch {
          throw WebSocketError(error)
        }
        return 0
      }
    }
    await expectTexts(
      """
      response/malformed_response: the response says HTTP/2 over an HTTP/1.1 connection (the server does not follow HTTP: report it to its owner, or check that the port is that of HTTP)
      response/protocol_violation: a frame has the reserved opcode 3 (the server does not follow RFC 6455: report it to its owner)
      response/protocol_violation: a Close frame has the code 1, which may not be sent (the server does not follow RFC 6455: report it to its owner)
      response/protocol_violation: the server answered 200 and not 101 Switching Protocols (check that the path is that of a WebSocket)
      """,
      of: [
        { throw HeadViolation.wrongVersion(2).transportError }, frames([0x83, 0]), frames([0x88, 2, 0, 1]),
        { throw TransportError.notSwitched(200) },
      ])
  }

  @Test("Errors for Gemini and known hosts count bytes, and name the line that cannot be read")
  func gemini() async {
    let pin = "sha256/" + String(repeating: "A", count: 43) + "="
    let good = "a.example 1965 \(pin) 2027-01-01T00:00:00Z"
    func file(_ lines: String...) -> () async throws -> Any {
      { try KnownHostsText((["lastro-known-hosts 1"] + lines).joined(separator: "\n"), path: "/known") }
    }
    await expectTexts(
      #"""
      request/url_too_long: the URL has 1111 bytes, above the maximum of 1024 (shorten it; each byte of a non-ASCII character takes three, percent-encoded)
      request/unsupported_scheme: the scheme https is not gemini (a Gemini client fetches gemini:// URLs; open others with another program)
      /known has a line that cannot be understood: line 2: it has not four words (host, port, pin, date), but 1 (fix or remove it; a host without its line counts as never seen)
      /known has a line that cannot be understood: line 3: a.example:1965 is listed twice: line 2 (fix or remove it; a host without its line counts as never seen)
      /known has an unknown version: its first line is not "lastro-known-hosts 1" (read it with the version of Lastro that wrote it)
      """#,
      of: [
        { try GeminiURL("gemini://a/" + String(repeating: "a", count: 1_100)) }, { try GeminiURL("https://a") },
        file("a"), file(good, good), { try KnownHostsText("lastro-known-hosts 9", path: "/known") },
      ])
  }

  @Test("Errors for proxies and tunnels name the hop and its server, and mask the password")
  func tunnels() async throws {
    let server = try ShadowsocksServer(host: "proxy.example", port: 8388, method: .aes256GCM, password: "secret")
    await expectTexts(
      #"""
      hop 1 of the chain: cannot parse "user:***": the URL's port is not a number from 1 to 65535 (write HOST:PORT, or leave the port out)
      hop 1 of the chain: the URL of the front is not valid: the URL has user information in it: "https://***@x/" (remove the part before @, and give credentials in an Authorization header field)
      the obfs4 certificate has 4 characters instead of 70 (copy it from the bridge line: it stands behind cert=, and has 70 characters)
      the Shadowsocks method rc4-md5 is a stream cipher, which is broken (set up the server with one of aes-128-gcm, aes-256-gcm, chacha20-ietf-poly1305)
      response/truncated_stream: the stream from the Shadowsocks server proxy.example:8388 ended within a chunk: bytes are missing (the server or the network cut the connection: fetch again if that is safe)
      """#,
      of: [
        { try ViaChain(["socks5://user:secret"]) }, { try ViaChain(["meek:https://u:p@x/"]) },
        { try WispServer("obfs4:a:1?cert=AAAA") }, { try ShadowsocksServer("ss://rc4-md5:x@a:1") },
        { throw ShadowsocksFailure.truncated.carrying(of: server.name, isUsed: true) },
      ])
  }

  @Test("A proxy that refuses is named together with the target and its reply")
  func proxies() async {
    func dial(_ answers: [[UInt8]], _ make: @escaping (any Dialer) throws -> any Dialer) -> () async throws -> Any {
      {
        let near = MemoryDialer { _, stream in
          for answer in answers {
            _ = try await stream.read(upTo: 999, within: .seconds(60))
            try await stream.write(Data(answer), within: .seconds(60))
          }
        }
        return try await make(near).dial(DialRequest(host: "target.example", port: 80))
      }
    }
    await expectTexts(
      """
      proxy/proxy_refused: the SOCKS proxy proxy.example:1080 refused to connect to target.example:80: connection not allowed by ruleset (reply 2) (let the proxy's rules allow this host and port)
      proxy/proxy_refused: the HTTP proxy proxy.example:80 answered CONNECT target.example:80 with 403 (ask for the host and port in the proxy's rules)
      """,
      of: [
        dial([[5, 0], [5, 2, 0, 1, 0, 0, 0, 0, 0, 0]]) {
          try SOCKS5Dialer(proxy: ProxyServer(host: "proxy.example", port: 1080), over: $0)
        },
        dial([Array("HTTP/1.1 403 \r\nContent-Length: 0\r\n\r\n".utf8)]) {
          try HTTPConnectDialer(proxy: ProxyServer(host: "proxy.example", port: 80), over: $0)
        },
      ])
  }

  @Test("Errors for connections name the framer and count the missing bytes")
  func connections() async {
    func framer(_ reason: ProtocolFramer.Failure.Reason) -> () async throws -> Any {
      { throw ConnectionError.framer(ProtocolFramer.Failure(label: "lines", reason: reason)) }
    }
    await expectTexts(
      """
      framer lines: the stream ended with 4 of the 9 bytes needed
      framer lines: it needs 9 bytes at a time, above the maximum of 4
      request/invalid_option: port 0 is out of range (1…65535) (give the port that the server listens at)
      timeout/connect_timeout: the connection to a.example:443 was not ready within 10 s (raise connectTimeout, or check host, port and network)
      """,
      of: [
        framer(.incompleteInput(needed: 9, available: 4)), framer(.needTooLarge(needed: 9, limit: 4)),
        { try ConnectionEndpoint.hostPort(host: .name("a"), port: 0).serverAddress() },
        { throw TransportError.late("a.example:443", within: .seconds(10)) },
      ])
  }

  @Test("Errors for events, downloads and cookies name the option, the path and the value")
  func everyday() async throws {
    var events = EventStreamOptions()
    events.lastEventID = "a\nb"
    let one = try MessageDigest(of: Data("one".utf8))
    let two = try MessageDigest(of: Data("two".utf8))
    let digest = Digest(algorithm: .sha256, value: one)
    await expectTexts(
      #"""
      request/invalid_option: the parameter lastEventID "a\nb" has a control character (give the identifier of an event, as ServerSentEvent.lastEventID has it)
      request/file_failed: cannot open /d/file: No such file or directory (check that the folder exists, and that this process may write to it)
      request/file_exists: cannot make /d/file: File exists (choose another path, or let the download replace the file (replaces))
      request/disk_full: cannot write to /d/file: No space left on device (free some space: the synced bytes are kept, and a later download resumes from them)
      response/digest_mismatch: /d/file has the SHA-256 digest 3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3, not 7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed (the received bytes were removed: download it again, or check the source of the expected digest)
      the network 10.0.0.0/33 has a prefix outside of 0…32 (write it as in 10.0.0.0/8)
      """#,
      of: [
        { [events] in try events.check() },
        {
          throw FileFailure(operation: "open", path: "/d/file", code: ENOENT).transportError(requestSent: false)
        },
        {
          throw FileFailure(operation: "make", path: "/d/file", code: EEXIST).transportError(requestSent: false)
        },
        {
          throw FileFailure(operation: "write to", path: "/d/file", code: ENOSPC).transportError(requestSent: false)
        }, { throw TransportError.digestMismatch(digest, found: two, of: "/d/file") },
        { try AddressRange("10.0.0.0/33") },
      ])
  }

  @Test("Errors of HTTP/2 name the code of the frame, and what to change")
  func http2() async {
    let large = HTTP2Violation(.headTooLarge, "the response head exceeds 9 bytes")
    await expectTexts(
      """
      response/http2_failure: the server ended the HTTP/2 connection: ENHANCE_YOUR_CALM (send less at once: the server calls it too much)
      response/truncated_body: the server reset the HTTP/2 stream before the body ended: CANCEL (fetch again if that is safe; the server's owner can tell why)
      tls/handshake_failed: the server refuses HTTP/2 over the negotiated TLS (INADEQUATE_SECURITY) (ask its operator for the ciphers it wants, or set httpVersion to .http1)
      limit/head_too_large: the response head exceeds 9 bytes (raise maximumHeadBytes if the server is trusted)
      """,
      of: [
        { throw TransportError.closedWith(.enhanceYourCalm) }, { throw TransportError.cutByReset(.cancel) },
        { throw TransportError.resetStream(.inadequateSecurity) }, { throw TransportError(large) },
      ])
  }

  @Test("Errors for names, forms and cookies quote what they were given, with control characters escaped")
  func named() async throws {
    let far = try HostName("far.test")
    var form = MultipartForm()
    form.add("a\n", Data(), fields: ["Content-Type": "x"])
    await expectTexts(
      #"""
      resolve/invalid_option: a resolver returned "far.example\n", which is not an IP address (let it return addresses such as 192.0.2.1 or 2001:db8::1)
      resolve/host_not_found: the system cannot resolve far.test: Temporary failure in name resolution (check the name, and DNS on this machine)
      request/invalid_body: "a\nb" cannot be a boundary (give 1 to 70 letters, digits or '()+_,-./:=? and no space at the end; or none, to have one drawn)
      request/invalid_header: the part "a\n" of the form has the field Content-Type (leave it out: a part's fields follow from its name, file name and type)
      the cookie has a value and no name (give it a name; CookieJar(acceptsNameless: true) takes cookies without one)
      """#,
      of: [
        { throw TransportError.notAnAddress("far.example\n") },
        { throw TransportError.lookUpFailed(far, "Temporary failure in name resolution", -3) },
        { try RequestBody.multipart(MultipartForm(boundary: "a\nb")) }, { [form] in try RequestBody.multipart(form) },
        { throw ConfigurationError(.nameless, of: Cookie("", "x", domain: "a.com")) },
      ])
  }

  @Test("Errors for local limits name the key, the counts and the wait")
  func resilience() async throws {
    let key = ResilienceKey(try Origin("https://api.example.org"), part: "search")
    let target = try #require(TrustTarget(authority: "a.example", defaultPort: 443))
    await expectTexts(
      """
      policy/circuit_open: the circuit of https://api.example.org (search) is open: too many attempts failed; the next is tried in 4 s (wait until the server works again, or give CircuitBreaker other options)
      policy/concurrency_limited: the limiter of https://api.example.org (search) refused the attempt: 20 are running, 100 wait (send less at once, or give ConcurrencyLimiter a longer queue)
      policy/rate_limited: the rate limit of https://api.example.org (search) requires a wait of 30 s, and only 10 s are left (send less often, or raise Timeouts.total or the Pacer's maximumWait)
      policy/egress_denied: the egress policy denies an address of a.example:443: loopback (call EgressPolicy.allow for it, if it is meant to be reached)
      minimumCalls is 20, above the maximum of 10 (give 10 or less)
      """,
      of: [
        { throw TransportError.circuitOpen(key, .seconds(4)) },
        { throw TransportError.concurrencyLimited(key, inUse: 20, waiting: 100) },
        { throw TransportError.rateLimited(key, .seconds(30), limit: .seconds(10)) },
        { throw TransportError.egressDenied(.addressClass(.loopback), of: target) },
        { try CircuitBreaker(window: .calls(10)) },
      ])
  }

  @Test("The reason why a call is not retried names the limit and the wait")
  func retryEnds() throws {
    let origin = try Origin("https://a.example")
    #expect("\(Retry.End.quotaSpent(origin))".hasPrefix("the quota of retries to https://a.example is spent: "))
    #expect(Retry.End.attemptLimit(3).description.hasPrefix("the stack's limit of 3 attempts is reached"))
    let close = Retry.End.deadlineTooClose(wait: .seconds(3), left: .seconds(2), isDemanded: false)
    #expect(close.description == "a wait of 3 s does not end before the total deadline, in 2 s")
    let long = Retry.End.retryAfterTooLong(wait: .seconds(90), limit: .seconds(60))
    #expect(long.description.contains("90 s") && long.description.contains("60 s"))
  }

  private struct User: Decodable, Sendable {
    var name: String
  }

  @Test("A failed fetch prints one line: the masked URL, the status, and the API's words or the start of the body")
  func fetches() async {
    let page: HTTPFields = [.contentType: "text/html; charset=utf-8"]
    func fetch(_ step: ScriptedTransport.Step) -> () async throws -> Any {
      {
        let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: step))
        let url = "http://a.example/items?page=7&user=ann"
        return try await stack.fetch(.get(url, as: User.self, or: APIFailure.self))
      }
    }
    await expectTexts(
      """
      http/unexpected_status: the server answered GET http://a.example/items?page=7&user=*** with 404; the API says: APIFailure(message: "item 999 is unknown")
      http/unexpected_status: the server answered GET http://a.example/items?page=7&user=*** with 500; the body is text/html, and begins with <h1>Oops</h1>
      decode/undecodable: at name: the value is a number, String was expected (status 200); GET http://a.example/items?page=7&user=*** (compare the model with the payload)
      response/connection_lost: scripted (if the port expects TLS, write https)
      """,
      of: [
        fetch(.answer(404, body: #"{"message":"item 999 is unknown"}"#)),
        fetch(.answer(500, fields: page, body: "<h1>Oops</h1>")), fetch(.answer(200, body: #"{"name":1}"#)),
        fetch(.fail(.response, .connectionLost)),
      ])
  }

  /// Expects each call to throw an error that prints as the line at the same position.
  private func expectTexts(
    _ texts: String, of calls: [() async throws -> Any], sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let lines = texts.split(separator: "\n")
    #expect(lines.count == calls.count, sourceLocation: sourceLocation)
    for (line, call) in zip(lines, calls) {
      do {
        _ = try await call()
        Issue.record("no error: \(line)", sourceLocation: sourceLocation)
      } catch {
        #expect("\(error)" == line, sourceLocation: sourceLocation)
      }
    }
  }
}
