// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import Glibc
import HTTPTypes
import Lastro
import LastroCurl
import LastroFleet
import LastroSupport
import LastroTesting
import Logging
import PeerSupport
import TestSupport
import Testing

/// Processes that share a token, are killed at random moments and start again.
@Suite("One token for processes that are killed", .timeLimit(.minutes(15)))
struct SharedTokenProcessesTests {
  /// The number of times that a process is killed; `make long` raises it.
  private static let kills = ProcessInfo.processInfo.environment["LASTRO_KILLS"].flatMap { Int($0) } ?? 8
  /// The number of processes at a time.
  private static let processes = kills < 100 ? 4 : 20

  /// The endpoint for tokens, and an API that accepts the newest token for thirty calls.
  private static func server(_ endpoint: FamilyEndpoint) throws -> LoopbackServer {
    let uses = Lock<[String: Int]>([:])
    return try .http { request in
      if request.path == "/token" {
        let response = endpoint.respond(to: request)
        // The token is spent before the response is sent, and a kill in the meantime loses its successor.
        usleep(20_000)
        return response
      }
      let token = request.headers["Authorization"]?.split(separator: " ").last.map(String.init) ?? ""
      let count = uses.withLock { uses in
        uses[token, default: 0] += 1
        return uses[token, default: 0]
      }
      return token == endpoint.newest && count <= 30 ? .text("fine") : LoopbackResponse(status: 401)
    }
  }

  /// Calls the API, as an instance of a service does.
  ///
  /// - Parameters:
  ///   - calls: the number of calls that must succeed.
  ///   - store: the URL of a Redis server, or the path of a folder.
  static func run(calls: Int, server: String, store: String) async throws {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    let stack = try CurlNetworkStack(engine)
    let client = try OAuth2Client(
      tokenURL: "\(server)/token", id: "shop", authentication: .none, allowsInsecureTokenURL: true)
    let source = try client.refreshToken(
      "r0", parameters: ["instance": Secret("\(getpid())")], stack: stack)
    let key = try SealingKey(base64: Secret(testKey)), logger = Logger(label: "fleet") { _ in SwiftLogNoOpLogHandler() }
    let tokens: any AccessTokenSource =
      store.hasPrefix("redis:")
      ? try source.shared(
        in: RedisStore(store, dialer: stack.dialer), as: "api", sealedWith: key, refreshesAlone: false, logger: logger)
      : try source.shared(
        in: FileStore(folder: store), as: "api", sealedWith: key, refreshesAlone: false, logger: logger)
    let authenticator = try BearerAuthenticator(
      source: tokens, origins: [Origin(server)], maximumRefreshes: nil, allowsInsecureOrigins: true)
    let api = CurlNetworkStack(sharing: stack, configuration: StackConfiguration(interceptors: [authenticator]))
    let request = try ResourceRequest(url: "\(server)/api")
    var left = calls
    while left > 0 {
      let status = try await api.exchange(request).response.status
      if status == .ok { left -= 1 }
      // The other processes may use a token up before this one gets it.
      guard status == .ok || status == .unauthorized else {
        throw FleetStoreError(.invalidReply, "the API answered with \(status)")
      }
    }
  }

  private static func isRunning(_ process: String) -> Bool {
    guard let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
    return !state.contains(") Z ")
  }

  @Test(
    "No refresh token is sent again while its spender runs, and the fleet is never locked out",
    arguments: [false, true])
  func killed(inRedis: Bool) async throws {
    let endpoint = FamilyEndpoint(isLenient: true, isRunning: Self.isRunning)
    let server = try Self.server(endpoint)
    defer { server.stop() }
    let url = server.baseURL
    let directory = try PeerDirectory()
    let peer = inRedis ? try await RedisPeer.start() : nil
    let store = peer.map { "redis://127.0.0.1:\($0.port)" } ?? "\(directory.path)/tokens"
    // The error of a fault in the test itself, which the processes would not show.
    try await Self.run(calls: 1, server: url, store: store)
    try await withThrowingTaskGroup { group in
      for process in 0..<Self.processes {
        // Else two waits for processes would hold up all tests; see the trait `ownThread`.
        let thread = ThreadExecutor()
        group.addTask(executorPreference: thread) {
          defer { thread.end() }
          for round in 0..<(Self.kills / Self.processes) {
            let delay = 100_000 + (process * 7_919 + round * 104_729) % 900_000
            await #expect(processExitsWith: .signal(SIGKILL)) {
              [url = url as String, store = store as String, delay = delay as Int] in
              Thread.detachNewThread {
                usleep(UInt32(delay))
                kill(getpid(), SIGKILL)
              }
              // Until it is killed, however slow the machine is.
              while true { try? await SharedTokenProcessesTests.run(calls: 1_000, server: url, store: store) }
            }
          }
          await #expect(processExitsWith: .success) { [url = url as String, store = store as String] in
            try await SharedTokenProcessesTests.run(calls: 50, server: url, store: store)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(endpoint.needless == [])
    #expect(endpoint.refreshes >= 2, "\(endpoint.refreshes)")
  }
}
