// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroObservability
import LastroTesting

private func scripted() async throws -> String {
  // sample: scripted
  let transport = ScriptedTransport([
    .expect(method: .get, path: "/users/octocat", then: .respond(status: 503)),
    .expect(method: .get, path: "/users/octocat", then: .respond(status: 200, body: #"{"login":"octocat"}"#)),
  ])
  let resource = HTTPResource.user("octocat")
  var configuration = StackConfiguration()
  configuration.interceptors = [.retry(.maxRetries(1))]
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)

  let login = try await stack.fetch(resource).value.login
  try transport.verify()  // every step was taken, by the request it expected, and there were no others
  // end
  return login
}

private func schedule() async -> (sleeps: [Duration], elapsed: Duration) {
  // sample: schedule
  let clock = ManualClock(autoAdvance: true)
  var configuration = StackConfiguration()
  configuration.timeSource = clock.timeSource
  configuration.randomSource = .seeded(7)
  configuration.interceptors = [
    .retry(
      .backoff(
        .exponential(baseDelay: .milliseconds(200), scale: Retry.Backoff.doubling, until: .maxRetries(3))))
  ]
  let transport = ScriptedTransport(repeatingLast: .respond(status: 503))
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)

  _ = try? await stack.fetch(.user("octocat"))
  // clock.sleeps == [.milliseconds(200), .milliseconds(400), .milliseconds(800)]
  // end
  return (clock.sleeps, clock.now)
}

private func limit() async throws -> FailureCode? {
  // sample: limit
  let clock = ManualClock()
  var configuration = StackConfiguration()
  configuration.timeSource = clock.timeSource
  configuration.interceptors = [
    .retry(.backoff(.constant(delay: .seconds(20), until: .maxRetries(9))))
  ]
  let transport = ScriptedTransport([.respond(status: 503), .respond(status: 200, body: #"{"login":"octocat"}"#)])
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)

  async let fetched = stack.fetch(.user("octocat"))
  try await clock.waitForSleepers(count: 1)  // it has failed once, and waits
  clock.advance(by: .seconds(20))
  let login = try await fetched.value.login
  // end
  return login == "octocat" ? nil : .invalidURL
}

private func pausedEvents() async throws -> [String] {
  // sample: events
  let clock = ManualClock()
  var configuration = StackConfiguration()
  configuration.timeSource = clock.timeSource
  let transport = ScriptedTransport([
    .events((.seconds(15), "data: Hello\n\n"), (.seconds(40), "data: [DONE]\n\n"), on: clock)
  ])
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)

  let reading = Task {
    var texts: [String] = []
    let events = stack.events(
      .get("https://api.example.org/answer"), maximumReconnections: 0, firstEvent: .seconds(20))
    for try await event in events { texts.append(event.data) }
    return texts
  }
  for pause in [15, 40] {
    try await clock.waitForSleepers(count: 1)  // the pause has begun
    clock.advance(by: .seconds(pause))
  }
  let texts = try await reading.value
  // end
  return texts
}

private func scriptedOAuth() async throws {
  // sample: scripted oauth
  let clock = ManualClock()
  let user = ScriptedTransport.Step.respond(status: 200, body: #"{"login":"octocat"}"#)
  func token(_ name: String) -> ScriptedTransport.Step {
    .respond(status: 200, body: #"{"access_token":"\#(name)","token_type":"Bearer","expires_in":3600}"#)
  }
  let transport = ScriptedTransport([
    .expect(method: .post, path: "/token", then: token("first")),
    .expect(path: "/users/octocat", then: user),
    .expect(path: "/users/octocat", then: user),  // after 59 min, with the same token
    .expect(method: .post, path: "/token", then: token("second")),  // after an hour the first one has expired
    .expect(path: "/users/octocat", then: user),
    .expect(path: "/users/octocat", then: .respond(status: 401)),  // the API has revoked the second one
    .expect(method: .post, path: "/token", then: token("third")),
    .expect(path: "/users/octocat", then: user),
  ])
  let client = try OAuth2Client(
    tokenURL: "https://login.example.com/token", id: "shop", authentication: .basic(Secret("shop's secret")))
  let bearer = try BearerAuthenticator(
    source: client.clientCredentials(), origins: [Origin("https://api.github.com")])
  var configuration = StackConfiguration(interceptors: [bearer])
  configuration.timeSource = clock.timeSource  // the authenticator and the transport use it, too
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)

  for minutes in [0, 59, 1, 1] {
    clock.advance(by: .seconds(60 * minutes))
    _ = try await stack.fetch(.user("octocat"))
  }
  try transport.verify()
  let sent = transport.requests.compactMap { $0.head.headerFields[.authorization] }
  print(sent.filter { $0.hasPrefix("Bearer") })
  // end
}

private func oauth() async throws {
  // sample: oauth
  let clock = ManualClock()
  let root = try CertificateAuthority()
  let api = try LoopbackServer.demo(tls: LoopbackTLS(root.issue(hosts: ["localhost"])), time: clock.timeSource)
  var engine = CurlConfiguration()
  engine.connection.tls.roots = .pem(Array(root.rootPEM.utf8))
  engine.connection.proxy = .none
  let plain = try CurlNetworkStack(engine)
  let client = try OAuth2Client(
    tokenURL: "\(api.baseURL)/oauth/token", id: "demo-client", authentication: .basic("demo-secret"))
  let bearer = try BearerAuthenticator(
    source: client.clientCredentials(stack: plain), origins: [Origin(api.baseURL)],
    timeSource: clock.timeSource)
  let stack = CurlNetworkStack(sharing: plain, configuration: StackConfiguration(interceptors: [bearer]))
  let page = HTTPResource.text("\(api.baseURL)/private")

  func issued() -> Int { api.requests.count { $0.path == "/oauth/token" } }
  for minutes in [0, 59, 1, 1] {
    clock.advance(by: .seconds(60 * minutes))
    let answer = try await stack.fetch(page)
    let count = answer.response.ledger.attempts.count
    print("\(answer.response.status.code), \(issued()) issued, \(count) attempt")
  }
  // An operator revokes all tokens, long before they expire.
  _ = try await plain.fetch(.raw(try ResourceRequest(method: .delete, url: "\(api.baseURL)/oauth/tokens")))
  let answer = try await stack.fetch(page)
  print(answer.response.ledger.attempts.map { "\($0.status?.code ?? 0)" }, "\(issued()) issued")
  // end
  api.stop()
}

private func otherServer() async throws -> String {
  // sample: base URL
  let server = try LoopbackServer.http { request in
    .json(#"{"login":"\#(request.path.split(separator: "/").last ?? "")"}"#)
  }
  var configuration = StackConfiguration()
  configuration.baseURL = server.baseURL  // in place of https://api.github.com
  let stack = try CurlNetworkStack(configuration: configuration)

  let login = try await stack.fetch(.user("octocat")).value.login
  // end
  return login
}

private func loopback() async throws -> HTTPFetchError<GitHubError>? {
  // sample: loopback
  let root = try CertificateAuthority(commonName: "Test root")
  let server = try LoopbackServer.http(tls: LoopbackTLS(root.issue(hosts: ["localhost"]))) { request in
    LoopbackResponse(
      headers: ["Content-Type": "application/json"], body: Array("{}".utf8), fault: .truncateBody(after: 1))
  }
  var engine = CurlConfiguration()
  engine.connection.tls.roots = .pem(Array(root.rootPEM.utf8))
  engine.connection.proxy = .none
  let stack = try CurlNetworkStack(engine)
  let resource = HTTPResource<String, GitHubError>(
    baseRequestMaking: BaseRequestMaking { try ResourceRequest(url: server.baseURL) }, decoding: .text,
    errorDecoding: .json())

  do throws(HTTPFetchError<GitHubError>) {
    _ = try await stack.fetch(resource)
  } catch {
    print(error)  // response/truncated_body
    return error
  }
  // end
  return nil
}

private func http2() throws -> LoopbackServer {
  // sample: http2
  let root = try CertificateAuthority(commonName: "Test root")
  let server = try LoopbackServer.http2(tls: LoopbackTLS(root.issue(hosts: ["localhost"]))) { request in
    request.path == "/busy" ? .fault(.refusedStream) : .text("fine")
  }
  // end
  return server
}

private func replay(_ recorder: HARRecorder) async throws -> String {
  // sample: replay
  let transport = try HARReplayTransport(json: recorder.har())
  let stack = TransportNetworkStack(transport: transport)
  let login = try await stack.fetch(.user("octocat")).value.login
  // transport.remainingEntries == 0
  // end
  return transport.remainingEntries == 0 ? login : "left over"
}

extension Page {
  static let testing = Page("Testing") { stage in
    stage.check("a script is followed", try await scripted() == "octocat")
    let (sleeps, elapsed) = await schedule()
    stage.check(
      "a schedule, to the millisecond", sleeps == [.milliseconds(200), .milliseconds(400), .milliseconds(800)])
    stage.check("and no time has passed but on the clock", elapsed == .milliseconds(1_400))
    stage.check("a wait is ended by the test", try await limit() == nil)
    stage.check("events with pauses between them", try await pausedEvents() == ["Hello", "[DONE]"])
    stage.check("no random addition", RandomSource.constant(0).next() == 0)
    let numbers = (RandomSource.seeded(7), RandomSource.seeded(7))
    stage.check("the same seed, the same numbers", numbers.0.next() == numbers.1.next())

    try await stage.prints("scripted oauth") { try await scriptedOAuth() }
    try await stage.prints("oauth") { try await oauth() }

    let transport = ScriptedTransport([.expect(path: "/users/apple", then: .respond(status: 200))])
    let stack = TransportNetworkStack(transport: transport)
    if let error = await stage.failure(of: .user("octocat"), from: stack) {
      await stage.prints("mismatch") { print(error.message) }
    }
    do {
      try transport.verify()
      stage.check("and the test is told", false)
    } catch {
      stage.check("and the test is told", "\(error)".contains("expected any method /users/apple"))
    }

    stage.check("endpoints at another server", try await otherServer() == "octocat")
    stage.check("a body that breaks off", try await loopback()?.code == .truncatedBody)
    let server = try http2()
    stage.check("an HTTP/2 server", server.baseURL.hasPrefix("https:"))
    server.stop()

    let recorder = HARRecorder()
    var configuration = StackConfiguration()
    configuration.observers = [recorder]
    _ = try await stage.github(configuration).fetch(.user("octocat"))
    stage.check("what was recorded is replayed", try await replay(recorder) == "octocat")
  }
}
