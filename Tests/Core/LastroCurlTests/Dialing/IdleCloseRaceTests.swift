// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// A server closes connections after its answers without notice, while the next request may already be in flight (RFC
/// 9112 §9.3.1).
@Suite("Idle connections that close, raced against reuse", .timeLimit(.minutes(15)))
struct IdleCloseRaceTests {
  /// The number of requests: `RACES` of the environment, for long runs. Default: 4,000.
  private static let requests = ProcessInfo.processInfo.environment["RACES"].flatMap { Int($0) } ?? 4_000
  private static let lanes = 4

  enum Version: CaseIterable, Sendable {
    case http1, http2
  }

  /// Returns a server that answers, and closes the connection after two of three answers.
  private static func server(_ version: Version, _ authority: CertificateAuthority) throws -> LoopbackServer {
    let seeds = Lock<UInt64>(0)
    guard version == .http2 else {
      return try LoopbackServer { connection in
        var random = SeededGenerator(seed: Self.next(seeds))
        repeat {
          guard let request = try connection.readRequest() else { return }
          let body = Array(request.target.utf8)
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
          try connection.write(body)
        } while !Self.isLast(connection, using: &random)
        connection.close()
      }
    }
    return try .http2Script(tls: LoopbackTLS(authority.issue(hosts: ["localhost"]))) { http2 in
      var random = SeededGenerator(seed: Self.next(seeds))
      var last: UInt32 = 0
      repeat {
        guard let request = try http2.readRequest() else { return }
        try http2.respond(to: request, with: .text(request.path))
        last = request.stream ?? last
      } while !Self.isLast(http2.connection, using: &random)
      if Bool.random(using: &random) { try http2.write(.goAway(lastStream: last)) }
      // A reset, caused by unread frames, would discard the answer.
      http2.connection.closeAfterPeer()
    }
  }

  /// Returns whether to close the connection. Some connections are closed at once, others after a short pause.
  private static func isLast(_ connection: LoopbackConnection, using random: inout SeededGenerator) -> Bool {
    switch Int.random(in: 0..<3, using: &random) {
    case 0: return true
    case 1:
      _ = connection.pause(.microseconds(Int.random(in: 1...300, using: &random)))
      return true
    default: return false
    }
  }

  private static func next(_ seeds: borrowing Lock<UInt64>) -> UInt64 {
    seeds.withLock { value in
      value += 1
      return value
    }
  }

  @Test("No POST is sent twice, and no GET is lost", arguments: Version.allCases)
  func race(version: Version) async throws {
    let authority = try CertificateAuthority()
    let server = try Self.server(version, authority)
    func engine() throws -> CurlTransport {
      try .with { $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8)) }
    }
    let shared = try engine()
    let lost = try await withThrowingTaskGroup(of: [String].self) { group in
      for lane in 0..<Self.lanes {
        // Over HTTP/2 the lanes would share one connection, which may close after the answer to any of them.
        let engine = version == .http1 ? shared : try engine()
        group.addTask { await Self.run(lane, engine, server) }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(lost.isEmpty)
    let posts = server.requests.filter { $0.method == "POST" }.map(\.target)
    #expect(posts.count > Self.requests / SeedStride.value / 8)
    #expect(Set(posts).count == posts.count)
  }

  /// Sends the lane's requests one after the other, and returns those that were lost.
  private static func run(
    _ lane: Int, _ engine: CurlTransport, _ server: LoopbackServer
  ) async -> [String] {
    var lost: [String] = []
    for number in stride(from: lane, to: requests, by: lanes * SeedStride.value) {
      // GET and POST alternate, so both meet every kind of connection end.
      let isPost = number / lanes % 2 == 0
      let outcome = await engine.outcome(server, "/\(number)", method: isPost ? .post : .get) {
        if isPost { $0.body = .raw("\(number)") }
      }
      if outcome == .answered(200, "/\(number)") { continue }
      // The server may have processed a POST whose connection was lost. Only the caller can decide whether to repeat
      // it.
      if isPost, case .failed(let words) = outcome, words.hasSuffix("/connection_lost") {
        continue
      }
      lost.append("\(number): \(outcome)")
    }
    return lost
  }
}
