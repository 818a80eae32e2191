// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// The rules by which the engine sends a request again, against a plain statement of the standards.
@Suite("Every combination of the rules of resending", .ownThread, .serialized, .timeLimit(.minutes(15)))
struct ResendRuleTests {
  /// The facts that decide whether a request is sent again.
  struct Facts: Hashable {
    /// Whether the server said that it did not process the request (RFC 9113 §8.7).
    var isUnprocessed = false
    /// Whether the connection had carried another request before.
    var isReused = true
    /// Whether the request is idempotent, and its body can be had again.
    var allowsResend = true
    /// Whether the body has a source from which bytes were read.
    var isSourceRead = false
    /// Whether a byte of the request was sent.
    var wasSent = true
    /// Whether a part of a response has arrived.
    var hasResponse = false
    /// The number of earlier resends, and of earlier restarts before a byte was sent.
    var resends = 0
    var restarts = 0
  }

  /// Returns whether the standards and the documented limits permit a request to be sent again.
  static func permits(_ facts: Facts) -> Bool {
    // A part of a response shows that the server has acted on the request.
    if facts.hasResponse { return false }
    // A source is read once.
    if facts.isSourceRead { return false }
    // A server may refuse a request more than once; a loss is assumed to be an idle timeout only once.
    if facts.resends >= (facts.isUnprocessed ? 3 : 1) { return false }
    // The end of a new connection does not mean that the server had closed an idle one (RFC 9112 §9.3.1).
    if !facts.isUnprocessed, !facts.isReused { return false }
    // The server cannot have acted on a request of which nothing was sent.
    if !facts.wasSent { return facts.restarts < 16 }
    // RFC 9110 §9.2.2: only what is idempotent, unless the server is known not to have acted on it.
    return facts.isUnprocessed || facts.allowsResend
  }

  // MARK: The decision

  private enum Body: CaseIterable { case none, memory, unreadSource, readSource }

  /// An engine with one exchange in progress.
  private struct Running {
    let engine = VirtualEngine()
    let exchange: Exchange

    init(isHTTP2: Bool, isReused: Bool, _ body: Body, allowsResend: Bool) throws {
      engine.network.applicationProtocol = { _ in isHTTP2 ? "h2" : "http/1.1" }
      engine.network.dialing = { _ in
        .open { link in
          // The first request is answered only if it is to leave an open connection behind.
          if isHTTP2 {
            _ = MemoryHTTP2Server(link.far) { server, request in
              if request.target == "/first" { server.respond("1", to: request) }
            }
          } else {
            _ = MemoryHTTP1Server(link.far) { server, request in
              if request.target == "/first" { server.respond("1") }
            }
          }
        }
      }
      if isReused { #expect(engine.start(.to("/first", scheme: "https")).status == 200) }
      let call = engine.start(
        .to("/second", .post, scheme: "https", body: Self.body(body)) { $0.allowsResend = allowsResend })
      exchange = try #require(engine.port.reference.core?.exchanges[call.job.exchange])
      try #require(exchange.isRunning && exchange.isOnReused == isReused)
      exchange.upload.offset = body == .readSource ? 3 : 0
    }

    private static func body(_ body: Body) -> RequestBody {
      switch body {
      case .none: .empty
      case .memory: RequestBody(source: .bytes(Data("abc".utf8)))
      case .unreadSource, .readSource:
        // A source that gives nothing.
        RequestBody(
          source: .stream(length: 6, isReplayable: true) {
            {
              try await Task.sleep(for: .seconds(1_000))
              return nil
            }
          })
      }
    }
  }

  @Test("A request is sent again if and only if the standards permit it", arguments: [false, true])
  func decisions(isHTTP2: Bool) throws {
    var cases = 0, again = 0
    for isReused in [true, false] {
      for allowsResend in [true, false] {
        for body in Body.allCases {
          for (isUnprocessed, wasSent) in [(false, false), (false, true), (true, false), (true, true)] {
            // Over HTTP/1.1 a server cannot say that.
            if isUnprocessed, !isHTTP2 { continue }
            for (resends, restarts) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (0, 15), (0, 16), (2, 15), (2, 16)] {
              let facts = Facts(
                isUnprocessed: isUnprocessed, isReused: isReused, allowsResend: allowsResend,
                isSourceRead: body == .readSource, wasSent: wasSent, resends: resends, restarts: restarts)
              let running = try Running(isHTTP2: isHTTP2, isReused: isReused, body, allowsResend: allowsResend)
              let exchange = running.exchange, job = exchange.job
              exchange.requestSent = wasSent
              (job.resends, job.restarts) = (resends, restarts)
              // A stream ends before the rule is asked. One that did not would keep its call alive.
              (exchange.runner as? HTTP2Call)?.leave(nil)
              let isSent =
                isHTTP2
                ? exchange.host.sendAgain(exchange, isUnprocessed: isUnprocessed) : exchange.host.sendAgain(exchange)
              cases += 1
              again += isSent ? 1 : 0
              guard isSent == Self.permits(facts) else {
                Issue.record("sent again: \(isSent), against the rule: \(facts)")
                return
              }
              guard isSent else { continue }
              #expect(job.resends + job.restarts == resends + restarts + 1, "\(facts)")
              #expect(job.resends == (wasSent ? resends + 1 : resends), "\(facts)")
              #expect(exchange.upload.offset == 0 && !exchange.isOver, "\(facts)")
            }
          }
        }
      }
    }
    print("combinations of resending over \(isHTTP2 ? "HTTP/2" : "HTTP/1.1"): \(cases), of which \(again) resend")
    #expect(cases == (isHTTP2 ? 576 : 288) && again == (isHTTP2 ? 165 : 21))
  }

  // MARK: Histories of faults

  /// The fault with which a server ends a request.
  enum Fault: String, CaseIterable {
    /// The connection ends, or is reset, without a byte of a response.
    case end, reset
    /// The connection ends in the head, or in the body, of a response.
    case inHead, inBody
    /// The connection ends after an interim response.
    case interim
    /// The bytes are no response.
    case noise
    // Over HTTP/2 only: the stream or the connection ends.
    case refusedStream, internalError, cancelStream, goAwayBelow, goAwayAbove
    /// The server demands HTTP/1.1, over which the request is sent again.
    case http11Required

    static let overHTTP1: [Fault] = [.end, .reset, .inHead, .inBody, .interim, .noise]
    static let overHTTP2: [Fault] = [
      .end, .reset, .inBody, .interim, .refusedStream, .internalError, .cancelStream, .goAwayBelow, .goAwayAbove,
      .http11Required,
    ]

    var isUnprocessed: Bool { [.refusedStream, .goAwayBelow, .http11Required].contains(self) }

    /// Whether the request cannot have been lost with its connection: the server has responded to it.
    var isResponse: Bool { [.inHead, .inBody, .interim, .noise, .internalError, .cancelStream].contains(self) }
  }

  /// A server that ends each sending of a request with the next of some faults, and then responds.
  private final class FaultyServer {
    let engine = VirtualEngine()
    /// Whether each sending of the request came over a connection that had carried another one.
    private(set) var sendings: [Bool] = []
    private let faults: [Fault]

    init(_ faults: [Fault], isHTTP2: Bool) {
      self.faults = faults
      engine.network.applicationProtocol = { isHTTP2 ? $0.request.tls?.applicationProtocols.first : "http/1.1" }
      engine.network.dialing = { [unowned self] _ in
        .open { [unowned self] link in
          if link.facts.applicationProtocol == "h2" {
            _ = MemoryHTTP2Server(link.far) { [unowned self] server, request in take(request, server) }
          } else {
            _ = MemoryHTTP1Server(link.far) { [unowned self] server, request in take(request, server) }
          }
        }
      }
    }

    deinit { engine.network.forgetScripts() }

    /// Returns the fault for a request; `nil` to respond.
    private func fault(_ request: MemoryRequest, isReused: Bool) -> Fault? {
      guard request.target != "/first" else { return nil }
      sendings.append(isReused)
      return sendings.count <= faults.count ? faults[sendings.count - 1] : nil
    }

    private func take(_ request: MemoryRequest, _ server: MemoryHTTP1Server) {
      switch fault(request, isReused: server.requests.count > 1) {
      case nil: return server.respond("ok")
      case .reset: return server.far.reset()
      case .inHead: server.far.send("HTTP/1.1 2")
      case .inBody: server.far.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhal")
      case .interim: server.far.send("HTTP/1.1 103 E\r\n\r\n")
      case .noise: server.far.send("noise\r\n\r\n")
      default: break
      }
      server.far.end()
    }

    private func take(_ request: MemoryRequest, _ server: MemoryHTTP2Server) {
      switch fault(request, isReused: server.requests.count > 1) {
      case nil: return server.respond("ok", to: request)
      case .reset: return server.far.reset()
      case .inBody: server.send(.head(200, stream: request.stream))
      case .interim: server.send(.head(103, stream: request.stream))
      case .refusedStream: return server.reset(request, .refusedStream)
      case .internalError: return server.reset(request, .internalError)
      case .cancelStream: return server.reset(request, .cancel)
      case .http11Required: return server.reset(request, 0xd)
      case .goAwayBelow: return server.goAway(lastStream: max(2, request.stream) - 2)
      case .goAwayAbove: server.goAway(lastStream: request.stream)
      default: break
      }
      server.far.end()
    }
  }

  @Test("After up to three faults, a request is sent as often as the standards permit", arguments: [false, true])
  func faults(isHTTP2: Bool) {
    let kinds = isHTTP2 ? Fault.overHTTP2 : Fault.overHTTP1
    var histories: [[Fault]] = [[]]
    for length in 0..<3 {
      for history in histories where history.count == length {
        // A server that demands HTTP/1.1 has the faults of HTTP/1.1 from then on.
        let next = history.contains(.http11Required) ? Fault.overHTTP1 : kinds
        histories += next.map { history + [$0] }
      }
    }
    var runs = 0, again = 0
    for history in histories {
      for (isReused, allowsResend) in [(false, false), (false, true), (true, false), (true, true)] {
        let server = FaultyServer(history, isHTTP2: isHTTP2)
        if isReused { _ = server.engine.start(.to("/first", scheme: "https")) }
        let call = server.engine.start(.to("/second", .post, scheme: "https") { $0.allowsResend = allowsResend })
        let name = "\(history.map(\.rawValue)), reused: \(isReused), may be sent again: \(allowsResend)"
        runs += 1
        again += max(0, server.sendings.count - 1)
        guard Self.check(server.sendings, history, allowsResend: allowsResend, call, name) else { return }
      }
    }
    print("faults of resending over \(isHTTP2 ? "HTTP/2" : "HTTP/1.1"): \(runs) histories, \(again) resends")
    #expect(runs == (isHTTP2 ? 4_028 : 1_036) && again == (isHTTP2 ? 1_734 : 86))
  }

  /// Compares the sendings that a server saw with the rule.
  private static func check(
    _ sendings: [Bool], _ history: [Fault], allowsResend: Bool, _ call: VirtualCall, _ name: String
  ) -> Bool {
    for (index, fault) in history.prefix(sendings.count).enumerated() {
      let facts = Facts(
        isUnprocessed: fault.isUnprocessed, isReused: sendings[index], allowsResend: allowsResend,
        hasResponse: fault.isResponse, resends: index)
      guard permits(facts) == (sendings.count > index + 1) else {
        Issue.record("\(sendings.count) sendings, against the rule at \(index + 1): \(name)")
        return false
      }
    }
    let isServed = sendings.count > history.count
    guard isServed == (call.status == 200) else {
      Issue.record("\(call.words): \(name)")
      return false
    }
    // Retries depend on whether the server may have acted on any of the sendings.
    let mayHaveActed = history.prefix(sendings.count).contains { !$0.isUnprocessed }
    guard let error = call.error, error.requestSent != mayHaveActed else { return true }
    Issue.record("reported as sent: \(error.requestSent): \(name)")
    return false
  }
}
