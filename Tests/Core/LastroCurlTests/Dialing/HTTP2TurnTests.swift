// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// The share of a loop's turn that one connection uses while all others wait.
@Suite("Turns of the loop over HTTP/2", .timeLimit(.minutes(15)))
struct HTTP2TurnTests {
  @Test("A large upload does not starve other requests, however fast its server reads", arguments: [false, true])
  func upload(isClear: Bool) async throws {
    let authority = try CertificateAuthority()
    let engine = try CurlTransport.with {
      $0.loops = 1
      $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
      if isClear { $0.connection.httpVersion = .http2 }
    }
    var settings = LoopbackHTTP2Settings()
    settings.initialWindow = 1 << 30
    settings.replenishesWindows = false
    let tls = isClear ? nil : LoopbackTLS(try authority.issue(hosts: ["localhost"]))
    let server = try LoopbackServer.http2Script(tls: tls, settings: settings) { http2 in
      try http2.write(.windowUpdate(1 << 30, stream: 0))
      while let request = try http2.readRequest() {
        try http2.respond(to: request, with: .text("\(request.body.count)"))
      }
    }
    let count = 24 << 20
    let reporter = TransferProgressReporter()
    let turns = LoopTurns(of: engine.executor) { reporter.current.bytesSent }
    await turns.begin()
    let outcome = await engine.outcome(server, method: .post) {
      $0.body = .raw([UInt8](repeating: 7, count: count))
      $0.progress = reporter.beginTransfer(totalBytesToSend: Int64(count))
      $0.deadline = .seconds(200)
    }
    #expect(outcome == .answered(200, "\(count)"))
    // A turn may send 512 KiB, in addition to the bytes in buffers before and after it.
    let most = turns.end()
    #expect((64 << 10...1 << 20).contains(most), "\(most)")
  }
}

/// A sampler that reads a growing number once between any two turns of a loop.
private final class LoopTurns: Sendable {
  private struct State {
    var last: Int64 = 0
    /// The largest growth in one turn.
    var most: Int64 = 0
    var isOver = false
  }

  private let executor: any TaskExecutor
  private let number: @Sendable () -> Int64
  private let state = Lock(State())

  init(of executor: any TaskExecutor, number: @escaping @Sendable () -> Int64) {
    self.executor = executor
    self.number = number
  }

  /// Starts sampling, and returns between two turns.
  func begin() async { await Task(executorPreference: executor) { self.look() }.value }

  private func look() {
    let number = number()
    let isOver = state.withLock { state in
      state.most = max(state.most, number - state.last)
      state.last = number
      return state.isOver
    }
    // A job that is added between turns runs after the next turn, not before it.
    if !isOver { Task(executorPreference: executor) { self.look() } }
  }

  func end() -> Int64 {
    state.withLock { state in
      state.isOver = true
      return state.most
    }
  }
}
