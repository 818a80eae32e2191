// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroSupport
import TestSupport
import Testing

@testable import LastroTesting

/// A transport that speaks HTTP/2 with Lastro's own implementation.
enum HTTP2Shell: String, CaseIterable, Sendable {
  case direct, dialer

  /// Returns a transport that speaks HTTP/2 in the clear.
  ///
  /// - Parameter streams: the maximum number of concurrent streams.
  func transport(streams: Int = 100, buffer: Int = 64 << 10) throws -> any Transport {
    var options = ConnectionOptions()
    options.proxy = .none
    options.httpVersion = .http2
    let engine = try CurlTransport.with {
      $0.connection = options
      $0.http2StreamsPerHost = streams
      $0.streamBufferBytes = buffer
    }
    guard self == .dialer else { return engine }
    var configuration = DialerTransport.Configuration()
    configuration.connection = options
    configuration.http2StreamsPerConnection = streams
    configuration.http2StreamsPerHost = max(1_000, streams)
    configuration.streamBufferBytes = buffer
    return try DialerTransport(over: engine, configuration: configuration)
  }
}

/// GOAWAY between any two frames of uploads. A request that the server processed is processed once; a request that it
/// did not process is sent again.
@Suite("HTTP/2: GOAWAY during uploads", .timeLimit(.minutes(15)))
struct GoAwayTests {
  /// The streams that a server still accepts after it sends GOAWAY.
  enum Way: CaseIterable, Sendable {
    /// Streams up to the one whose frame was received last.
    case own
    case before
    case none
    /// The same streams as `own`, but the connection closes without answers to the processed requests.
    case cut
  }

  struct Round: Sendable, CustomTestStringConvertible {
    var shell: HTTP2Shell
    var uploads: Int
    /// The number of frames of each upload, including HEADERS.
    var frames: Int
    /// The distance from one GOAWAY point to the next. With 1, each point meets every way; with any other value, each
    /// point meets one way, in rotation.
    var step: Int
    var testDescription: String { "\(shell), \(uploads) uploads of \(frames) frames" }
  }

  @Test(
    "With GOAWAY at any point, each POST is processed once, or fails and reports that it was sent",
    arguments: HTTP2Shell.allCases.flatMap {
      [Round(shell: $0, uploads: 4, frames: 6, step: 1), Round(shell: $0, uploads: 100, frames: 2, step: 9)]
    })
  func everyPoint(_ round: Round) async throws {
    let server = try LeavingServer()
    let transport = try round.shell.transport()
    let points = Array(stride(from: 1, through: round.uploads * round.frames, by: round.step))
    for point in SeedStride.some(of: points) {
      let ways = round.step == 1 ? Way.allCases : [Way.allCases[point % Way.allCases.count]]
      for way in ways {
        // The warm-up request makes sure that the connection has the server's settings, so uploads are cut into the
        // expected number of frames.
        _ = try await transport.execute(.to(server.loopback, "/warm/\(point)/\(way)"))
        server.leave(after: point, way)
        let results = await Self.upload(round, "/\(point)/\(way)", over: transport, to: server.loopback)
        server.expectOneProcessing(results, way)
      }
    }
    server.expectHeads()
  }

  /// Sends all uploads concurrently, and returns the result of each.
  private static func upload(
    _ round: Round, _ prefix: String, over transport: any Transport, to server: LoopbackServer
  ) async -> [String: Result<Int, TransportError>] {
    await withTaskGroup(of: (String, Result<Int, TransportError>).self) { group in
      for number in 0..<round.uploads {
        let path = "\(prefix)/\(number)"
        let body = Data((0..<(round.frames - 1) * LeavingServer.window).map { UInt8(truncatingIfNeeded: $0 + number) })
        let request = TransferRequest.to(server, path, method: .post) {
          $0.body = RequestBody(source: .bytes(body))
          $0.deadline = .seconds(200)
        }
        group.addTask {
          do throws(TransportError) {
            let answer = try await transport.execute(request)
            #expect(answer.head.status.code == 200 && answer.body.bytes == body, "\(path)")
            return (path, .success(answer.facts.resends))
          } catch {
            return (path, .failure(error))
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }
}

/// An HTTP/2 server that sends GOAWAY on demand, and records the requests that it processed.
private struct LeavingServer {
  private struct Account {
    var leave: (point: Int, way: GoAwayTests.Way)?
    var processed: [String: Int] = [:]
    /// The requests that the server had received when it left and promised to process. `declared` has those that it
    /// rejected.
    var kept: Set<String> = []
    var declared: Set<String> = []
  }

  /// The number of body bytes in a frame. A client may send this many before it receives more credit.
  static let window = 8

  private let account: Lock<Account>
  let loopback: LoopbackServer

  init() throws {
    let account = Lock(Account())
    self.account = account
    var settings = LoopbackHTTP2Settings()
    settings.initialWindow = UInt32(Self.window)
    loopback = try LoopbackServer.http2Script(settings: settings) { http2 in
      var leave: (point: Int, way: GoAwayTests.Way)?
      var count = 0
      while let frame = try http2.readFrame() {
        try http2.handle(frame)
        if frame.kind == .headers || frame.kind == .data, http2.lastStream == nil {
          if leave == nil { leave = account.withLock { $0.leave.take() } }
          if leave != nil { count += 1 }
          if let leave, count == leave.point { try Self.goAway(http2, leave.way, from: frame.stream, account) }
        }
        // The server processes no request before it leaves, because it must not declare a processed request as
        // unprocessed.
        while leave == nil || http2.lastStream != nil, let request = http2.nextRequest() {
          account.withLock { $0.processed[request.path, default: 0] += 1 }
          if leave?.way != .cut { try http2.respond(to: request, with: LoopbackResponse(body: request.body)) }
        }
        if let leave, leave.way == .cut, http2.lastStream != nil { return http2.connection.closeAfterPeer() }
        try http2.sendWhatFits()
      }
    }
  }

  private static func goAway(
    _ http2: LoopbackHTTP2Connection, _ way: GoAwayTests.Way, from stream: UInt32, _ account: borrowing Lock<Account>
  ) throws {
    let all = Set(http2.streams.values.map(\.request.path))
    let last: LoopbackHTTP2Fault.LastStream =
      switch way {
      case .own, .cut: .own
      case .before: .before
      case .none: .id(0)
      }
    try http2.goAway(last, .noError, from: stream)
    let kept = Set(http2.streams.values.map(\.request.path))
    account.withLock {
      $0.kept.formUnion(kept)
      $0.declared.formUnion(all.subtracting(kept))
    }
  }

  func leave(after point: Int, _ way: GoAwayTests.Way) { account.withLock { $0.leave = (point, way) } }

  /// Compares the results that callers received with the requests that the server processed.
  func expectOneProcessing(_ results: [String: Result<Int, TransportError>], _ way: GoAwayTests.Way) {
    let (processed, kept, declared, isLeft) = account.withLock { ($0.processed, $0.kept, $0.declared, $0.leave == nil) }
    #expect(isLeft)
    for (path, result) in results {
      switch result {
      case .success(let resends):
        #expect(processed[path] == 1, "\(path)")
        // A request whose head the server had not read may have been sent already, or not.
        if declared.contains(path) || kept.contains(path) { #expect(resends == (declared.contains(path) ? 1 : 0)) }
      case .failure(let error):
        #expect(way == .cut && kept.contains(path), "\(path) \(error)")
        #expect(error.requestSent && error.code == .connectionLost, "\(path) \(error)")
        #expect(processed[path, default: 0] <= 1, "\(path)")
      }
    }
  }

  /// Asserts that each request arrived once, and a second time if the server had declared it unprocessed.
  func expectHeads() {
    let heads = loopback.requests.reduce(into: [:]) { $0[$1.path, default: 0] += 1 }
    let declared = account.withLock { $0.declared }
    #expect(!declared.isEmpty)
    for (path, count) in heads { #expect(count == (declared.contains(path) ? 2 : 1), "\(path)") }
    #expect(account.withLock { $0.processed.values.allSatisfy { $0 == 1 } })
  }
}
