// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A server closes connections behind its answers, without a word, while the next request may be on its way
/// (RFC 9112 §9.3.1).
@Suite("Idle connections that close, raced against reuse", .timeLimit(.minutes(5)))
struct IdleCloseRaceTests {
  /// `RACES` of the environment, for long runs.
  private static let requests = ProcessInfo.processInfo.environment["RACES"].flatMap { Int($0) } ?? 4_000
  private static let lanes = 4

  /// Answers, and closes behind two answers of three: at once, or a little later.
  private static func server() throws -> LoopbackServer {
    let seeds = Lock<UInt64>(0)
    return try LoopbackServer(.ephemeral) { connection in
      var random = SeededGenerator(seed: Self.next(seeds))
      while let request = try connection.readRequest() {
        let body = Array(request.target.utf8)
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
        try connection.write(body)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return connection.close()
        case 1:
          _ = connection.pause(.microseconds(Int.random(in: 1...300, using: &random)))
          return connection.close()
        default: break
        }
      }
    }
  }

  private static func next(_ seeds: borrowing Lock<UInt64>) -> UInt64 {
    seeds.withLock { value in
      value += 1
      return value
    }
  }

  @Test("no POST is sent twice, and no GET is lost", arguments: HTTPCarrier.allCases)
  func race(carrier: HTTPCarrier) async throws {
    let server = try Self.server()
    var configuration = CurlConfiguration()
    configuration.carrier = carrier
    let engine = try CurlTransport(configuration)
    let lost = await withTaskGroup(of: [String].self) { group in
      for lane in 0..<Self.lanes {
        group.addTask {
          var lost: [String] = []
          for number in stride(from: lane, to: Self.requests, by: Self.lanes * SeedStride.value) {
            let isPost = number % 2 == 0
            let outcome = await engine.outcome(server, "/\(number)", method: isPost ? .post : .get) {
              if isPost { $0.body = .raw("\(number)") }
            }
            if outcome == .answered(200, "/\(number)") { continue }
            // A POST whose connection ends may have been taken: only the caller knows what follows from that. libcurl
            // sends a GET again on whatever connection, which may end, too.
            if isPost || carrier == .transfer, case .failed(let words) = outcome, words.hasSuffix("/connection_lost") {
              continue
            }
            lost.append("\(number): \(outcome)")
          }
          return lost
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(lost.isEmpty)
    let posts = server.requests.filter { $0.method == "POST" }.map(\.target)
    #expect(posts.count > Self.requests / SeedStride.value / 8)
    #expect(Set(posts).count == posts.count)
  }
}
