// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension Step {
  static let refreshing = Step(
    title: "200 calls get a 401 at the same time",
    explanation: """
      The token is revoked while 200 requests that carry it are in flight. The server rejects all of them. One call
      refreshes the token, the others wait for it, and each request is sent once more. The ledger of a call lists both.
      """
  ) { stage in
    let count = 200
    let bearer = try stage.bearer()
    _ = try await stage.stack.fetch(.secret(through: [bearer]))
    try stage.check("the first call got a token", stage.requests(for: "/oauth/token") == 1)
    let before = stage.requests(for: "/private")

    stage.asked("\(count) times fetch(.secret(…)) at once, with a token that is revoked")
    let tokens = "\(stage.server.baseURL)/oauth/tokens"
    _ = try await stage.stack.fetch(.raw(try ResourceRequest(method: .delete, url: tokens)))
    let line = StartLine(places: count)
    let ledgers = try await withThrowingTaskGroup(of: AttemptLedger.self) { group in
      for _ in 0..<count {
        group.addTask { try await stage.stack.fetch(.secret(through: [bearer, line])).response.ledger }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    try stage.check(
      "every call saw a 401, then a 200", ledgers.allSatisfy { $0.attempts.map(\.status?.code) == [401, 200] })
    try stage.check("the server issued one new token", stage.requests(for: "/oauth/token") == 2)
    try stage.check("and got \(2 * count) requests for it", stage.requests(for: "/private") - before == 2 * count)
    if let ledger = ledgers.first {
      stage.came("the ledger of one of them:")
      for line in "\(ledger)".split(separator: "\n") { stage.say("  \(line)") }
    }
  }
}

extension Stage {
  fileprivate func bearer() throws -> BearerAuthenticator {
    let client = try OAuth2Client(
      tokenURL: server.baseURL + "/oauth/token", id: "demo-client", authentication: .basic("demo-secret"))
    return try BearerAuthenticator(
      source: client.clientCredentials(stack: stack),
      origins: [Origin(server.baseURL)])
  }

  fileprivate func requests(for path: String) -> Int { server.requests.count { $0.path == path } }
}

/// An interceptor that holds first attempts until all have arrived, which reproduces an unlucky moment.
private final class StartLine: HTTPResourceInterceptor {
  private let arrivals: AsyncStream<Void>.Continuation
  private let start: Task<Void, Never>

  init(places: Int) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    arrivals = continuation
    start = Task {
      var missing = places
      for await _ in stream {
        missing -= 1
        if missing == 0 { return }
      }
    }
  }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    guard context.attempt == 1 else { return }
    arrivals.yield()
    await start.value
  }
}
