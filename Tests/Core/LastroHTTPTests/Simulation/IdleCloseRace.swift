// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// HTTP/1.1 requests that use idle connections at the moment at which their server closes them, generated from one
/// seed.
///
/// GETs, which may be sent again, and POSTs alternate. Each response carries the number of its request.
final class IdleCloseRace {
  /// The moment at which a server closes an idle connection.
  enum Moment: CaseIterable {
    /// The client has noticed the end before the request is made.
    case earlier
    /// The end arrives in the turn in which the request is made, before the request.
    case justBefore
    /// The end arrives in the turn in which the request is made, after the request.
    case justAfter
    /// The request is in flight.
    case onTheWay
    /// The server has accepted a part of the request.
    case midRequest
    /// The request has arrived completely, and the application has not begun it.
    case beforeProcessing
    /// The application has begun the request, and there is no response.
    case beforeResponse
    /// The response has been sent.
    case afterResponse
  }

  private static let latency = Duration.milliseconds(5)

  private let seed: UInt64
  private var random: SeededGenerator
  private let engine: VirtualEngine
  /// The moments for the connections that are open, by their links.
  private var moments: [Int32: Moment] = [:]
  /// The links that the server has closed.
  private var closed: Set<Int32> = []
  /// The number of times that the application has begun each request.
  private var processed: [Int] = []
  private(set) var closes: [Moment: Int] = [:]
  private(set) var failures = 0
  private(set) var resends = 0
  private(set) var faults: [String] = []

  init(seed: UInt64) {
    self.seed = seed
    var random = SeededGenerator(seed: seed)
    engine = VirtualEngine {
      $0.connectionsPerHost = .random(in: 1...4, using: &random)
      $0.idleConnections = 4
    }
    self.random = random
    engine.network.dialing = { [unowned self] _ in .open { [unowned self] in serve($0) } }
  }

  // MARK: The server

  private func serve(_ link: MemoryLink) {
    let id = link.id
    _ = MemoryHTTP1Server(link.far) { [unowned self] server, request in
      if !closed.contains(id) { received(request, on: server, id) }
    }
    let read = link.far.onBytes
    link.far.onBytes = { [unowned self] far in
      if moments[id] == .midRequest { close(far, id) } else { read(far) }
    }
    link.far.onClose = { [unowned self] _ in moments[id] = nil }
  }

  private func received(_ request: MemoryRequest, on server: MemoryHTTP1Server, _ link: Int32) {
    let moment = moments[link]
    if moment == .beforeProcessing { return close(server.far, link) }
    guard let number = Int(request.target.dropFirst()), processed.indices.contains(number) else {
      return expect(false, "unknown request: \(request.target)")
    }
    processed[number] += 1
    if moment != .beforeResponse { server.respond(request.target) }
    if moment == .beforeResponse || moment == .afterResponse { close(server.far, link) }
  }

  /// Closes a connection from the server's side. Its application receives no later bytes.
  private func close(_ far: MemoryPeer, _ link: Int32) {
    guard closed.insert(link).inserted else { return }
    if let moment = moments[link] { closes[moment, default: 0] += 1 }
    switch Int.random(in: 0..<4, using: &random) {
    case 0: far.reset()
    case 1: far.end(isClean: false)
    default: far.end()
    }
  }

  /// Closes the connections whose moment has come.
  private func close(_ moment: Moment) {
    for link in engine.network.openLinks where moments[link.id] == moment { close(link.far, link.id) }
  }

  // MARK: The race

  /// Races requests against the given number of closes.
  func run(closes count: Int) {
    defer { engine.shutDown() }
    while faults.isEmpty, closes.values.reduce(0, +) < count { round() }
    engine.advance(by: .seconds(61))
    expect(engine.holdings == .atRest(connections: 0), "the engine holds \(engine.holdings)")
    expect(engine.network.openCount == 0, "\(engine.network.openCount) links stay open")
  }

  private func round() {
    for link in engine.network.openLinks {
      let moment = Moment.allCases.randomElement(using: &random) ?? .earlier
      moments[link.id] = moment
      link.far.latency = moment == .onTheWay ? Self.latency : .zero
      link.far.capacity = moment == .midRequest ? .random(in: 1...80, using: &random) : .max
    }
    let before = closes.values.reduce(0, +)
    close(.earlier)
    engine.settle()
    close(.justBefore)
    let calls = submit(.random(in: 1...3, using: &random))
    close(.justAfter)
    engine.settle()
    close(.onTheWay)
    engine.advance(by: Self.latency * 2)
    let failed = calls.count { !check($0.number, $0.call) }
    failures += failed
    expect(failed <= closes.values.reduce(0, +) - before, "more requests fail than connections were closed")
    let open = engine.network.openCount
    expect(open <= engine.settings.connectionsPerHost, "\(open) connections are open")
    expect(engine.holdings == .atRest(connections: open), "the engine holds \(engine.holdings), \(open) are open")
    expect(engine.activeJobs == 0, "\(engine.activeJobs) requests are active")
  }

  private func submit(_ count: Int) -> [(number: Int, call: VirtualCall)] {
    (0..<count).map { _ in
      let number = processed.count
      processed.append(0)
      let isGET = number.isMultiple(of: 2)
      let request = TransferRequest.to(
        "/\(number)", isGET ? .get : .post, body: isGET ? .empty : RequestBody(source: .bytes(Data("body".utf8)))
      ) { $0.allowsResend = isGET }
      return (number, engine.submit(request))
    }
  }

  private func expect(_ condition: Bool, _ fault: @autoclosure () -> String) {
    if !condition { faults.append("seed \(seed): \(fault())") }
  }

  /// Returns whether a request succeeded, and checks its outcome.
  private func check(_ number: Int, _ call: VirtualCall) -> Bool {
    let isGET = number.isMultiple(of: 2), count = processed[number]
    switch call.outcome {
    case .success(let response):
      resends += response.facts.resends
      expect(response.head.status.code == 200 && call.text == "/\(number)", "/\(number) got another response")
      expect(count >= 1 && count <= 1 + (isGET ? response.facts.resends : 0), "/\(number) was processed \(count) times")
      return true
    case .failure(let error):
      expect(!isGET && error.code == .connectionLost && error.requestSent, "/\(number) failed: \(error.words)")
      expect(count <= 1, "/\(number) was processed \(count) times")
      return false
    case nil:
      expect(false, "/\(number) has not ended")
      return true
    }
  }
}
