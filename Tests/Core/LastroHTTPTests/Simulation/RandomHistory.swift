// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// A random history of an engine with few connections: requests, cancellations, responses, cuts and time, generated
/// from one seed.
///
/// After every step, the history is compared with the facts that are visible on the network alone: which requests were
/// answered, which connection carries which request, and which limits hold.
final class RandomHistory {
  /// The servers of a history, and the connections to them.
  struct Plan: Sendable, CustomTestStringConvertible {
    var isHTTP2: Bool
    /// The number of concurrent streams that a server allows; `nil` for a small random number.
    var streams: UInt32?
    /// Whether no connection is kept, so that each request finds no connection or a newly opened one. `nil` for random
    /// limits.
    var isCold: Bool?

    var testDescription: String {
      let kind = isCold.map { $0 ? ", cold" : ", warm" } ?? ""
      return isHTTP2 ? "HTTP/2, \(streams.map { "\($0)" } ?? "few") streams\(kind)" : "HTTP/1.1\(kind)"
    }
  }

  /// A request, and the servers' record of it.
  private struct Entry {
    var call: VirtualCall
    var target: String
    var host: String
    var isRepeatable: Bool
    var deadline: Duration
    /// The number of times that a server has received the request's head without refusing it.
    var served = 0
    /// The link whose server has the request and has not answered.
    var link: Int32?
  }

  private let seed: UInt64
  private let plan: Plan
  private var isHTTP2: Bool { plan.isHTTP2 }
  /// Whether bytes take time, so that an end and a request may cross.
  private let isSlow: Bool
  private var random: SeededGenerator
  private let engine: VirtualEngine
  private var entries: [Entry] = []
  /// The numbers of the entries that may still change.
  private var current: [Int] = []
  /// Whether dials, servers and links fail.
  private var hasFaults = true
  /// The hosts of links, by their ids.
  private var hosts: [Int32: String] = [:]
  private var servers: [MemoryHTTP2Server] = []
  private(set) var faults: [String] = []
  /// The number of outcomes by their words. A history without variety proves little.
  private(set) var outcomes: [String: Int] = [:]
  /// The events that servers and callers saw, in order.
  private(set) var trace: [String] = []
  private(set) var resends = 0
  /// The number of requests that were cancelled at any stage.
  private(set) var cancellations = 0

  init(seed: UInt64, _ plan: Plan) {
    self.seed = seed
    self.plan = plan
    var random = SeededGenerator(seed: seed)
    engine = VirtualEngine { settings in
      settings.connectionsPerHost = .random(in: 1...3, using: &random)
      settings.idleConnections = .random(in: 0...3, using: &random)
      settings.maximumQueuedRequests = .random(in: 2...6, using: &random)
      settings.dialsPerHost = .random(in: 1...3, using: &random)
      settings.idleLifetime = .seconds(5)
      settings.connectionLifetime = .seconds(20)
      guard let isCold = plan.isCold else { return }
      settings.idleConnections = isCold ? 0 : 3
      settings.maximumQueuedRequests = 100
      settings.idleLifetime = .seconds(60)
      settings.connectionLifetime = .seconds(300)
    }
    isSlow = .random(using: &random)
    self.random = random
    engine.network.applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    engine.network.dialing = { [unowned self] in dial($0) }
  }

  private static let late = TransportError(stage: .timeout, code: .connectTimeout, message: "late", hint: "-")
  /// The time after its limit at which a late dial fails.
  private static let lateness = Duration.seconds(30)

  private func chance(_ percent: Int) -> Bool { .random(in: 0..<100, using: &random) < percent }

  private func delay(upTo most: Int = 3_000) -> Duration {
    chance(30) ? .zero : .milliseconds(Int.random(in: 0...most, using: &random))
  }

  // MARK: Servers

  private func dial(_ dial: LinkDial) -> MemoryNetwork.Dial {
    // The dialer is late, so the request's own limit passes first. A dial whose request found another connection ends.
    if hasFaults, chance(5) {
      return .failed(Self.late, after: (dial.request.connectTimeout ?? dial.deadline ?? .zero) + Self.lateness)
    }
    if hasFaults, chance(10) {
      return .failed(TransportError(stage: .connect, code: .connectFailed, message: "no", hint: "-"), after: delay())
    }
    let host = dial.target.host.text
    trace.append("dial \(host)")
    return .open(after: delay(upTo: 1_000)) { [unowned self] link in
      hosts[link.id] = host
      link.readLimit = chance(20) ? Int.random(in: 1...20, using: &random) : .max
      if chance(20) { link.far.capacity = Int.random(in: 50...2_000, using: &random) }
      let id = link.id
      if isSlow { link.far.latency = .milliseconds(Int.random(in: 0...400, using: &random)) }
      link.far.onClose = { [unowned self] _ in left(id) }
      if isHTTP2 { return serveHTTP2(link) }
      let server = MemoryHTTP1Server(link.far) { [unowned self] server, request in respond(server, request) }
      server.onHead = { [unowned self] _, request in received(request, on: id) }
    }
  }

  /// Returns the number of a request; `nil` if the request does not belong to the history.
  private func number(of request: MemoryRequest) -> Int? {
    if let number = Int(request.target.dropFirst()), entries.indices.contains(number) { return number }
    faults.append("unknown request: \(request.target)")
    return nil
  }

  /// Records that a server has received the head of a request.
  private func received(_ request: MemoryRequest, on link: Int32) {
    guard let index = number(of: request) else { return }
    trace.append("\(request.target) on \(link)")
    entries[index].served += 1
    entries[index].link = link
  }

  /// Records that a connection has closed.
  private func left(_ link: Int32) {
    trace.append("closed \(link)")
    for index in current where entries[index].link == link { entries[index].link = nil }
  }

  /// Returns a random number below 100 that decides the response to a request; 50 if there are no faults.
  private func choice() -> Int { hasFaults ? Int.random(in: 0..<100, using: &random) : 50 }

  private func respond(_ server: MemoryHTTP1Server, _ request: MemoryRequest) {
    guard let index = number(of: request) else { return }
    let after = delay(), choice = choice(), far = server.far
    let closes: KeyValuePairs<String, String> = choice < 12 ? ["Connection": "close"] : [:]
    let bytes = Array(MemoryHTTP1Server.response(request.target, fields: closes).utf8)
    far.act(after: after) { [unowned self] in
      switch choice {
      case ..<60:
        entries[index].link = nil
        far.send(bytes)
      case ..<70:
        let cut = Int.random(in: 0..<bytes.count, using: &random)
        far.send(bytes[..<cut])
        if chance(50) { far.reset() } else { far.end() }
      case ..<80: far.end()
      case ..<85: far.reset()
      case ..<95:
        let cut = Int.random(in: 0..<bytes.count, using: &random)
        far.send(bytes[..<cut])
        far.act(after: delay()) { [unowned self] in
          entries[index].link = nil
          far.send(bytes[cut...])
        }
      default: break
      }
    }
  }

  private func serveHTTP2(_ link: MemoryLink) {
    let id = link.id
    let limit = plan.streams ?? UInt32.random(in: 1...4, using: &random)
    let settingsDelay = plan.isCold == true ? delay(upTo: 300) : .zero
    let server = MemoryHTTP2Server(link.far, streams: limit, settingsAfter: settingsDelay) {
      [unowned self] server, request in respond(server, request)
    }
    server.onHead = { [unowned self] _, request in received(request, on: id) }
    server.answersPings = !chance(10)
    servers.append(server)
  }

  private func respond(_ server: MemoryHTTP2Server, _ request: MemoryRequest) {
    guard let index = number(of: request) else { return }
    let choice = choice()
    server.far.act(after: delay()) { [unowned self] in
      guard server.open[request.stream] != nil else { return }
      switch choice {
      case ..<70:
        entries[index].link = nil
        server.respond(request.target, to: request)
      case ..<78:
        entries[index].served -= 1
        server.reset(request, .refusedStream)
      case ..<84: server.reset(request, .internalError)
      case ..<90:
        // Streams above the announced one were not processed.
        for (stream, other) in server.open where stream > request.stream {
          if let other = number(of: other) { entries[other].served -= 1 }
        }
        server.goAway(lastStream: request.stream)
        server.respond(request.target, to: request)
      case ..<94: server.far.reset()
      default: break
      }
    }
  }

  // MARK: Steps

  /// Runs a history of a number of steps, and records its faults.
  func run(steps: Int) {
    for step in 0..<steps {
      switch Int.random(in: 0..<100, using: &random) {
      case ..<45: submit()
      case ..<55: entries.randomElement(using: &random)?.call.job.cancel()
      case ..<62: engine.network.openLinks.randomElement(using: &random)?.far.end()
      case ..<65: engine.network.openLinks.randomElement(using: &random)?.far.reset()
      case ..<67: engine.network.openLinks.randomElement(using: &random)?.isCurrent = false
      default: engine.advance(by: .milliseconds(Int.random(in: 0...2_000, using: &random)))
      }
      engine.settle()
      check("after step \(step)")
      if !faults.isEmpty { return engine.shutDown() }
    }
    engine.advance(by: .seconds(120))
    end()
  }

  /// Runs a history of bursts in which one request in three is cancelled, at any stage.
  func run(cancellingFor duration: Duration) {
    if plan.isCold == false { warmUp() }
    let end = engine.clock.now + duration, burst = 2...max(10, min(40, Int(plan.streams ?? 1)))
    while engine.clock.now < end, faults.isEmpty {
      switch Int.random(in: 0..<100, using: &random) {
      case ..<70: for _ in 0..<(chance(10) ? Int.random(in: burst, using: &random) : 1) { submitCancelling() }
      case ..<76: engine.network.openLinks.randomElement(using: &random)?.far.end()
      case ..<79: engine.network.openLinks.randomElement(using: &random)?.far.reset()
      case ..<81: engine.network.openLinks.randomElement(using: &random)?.isCurrent = false
      case ..<86: stall()
      default: break
      }
      engine.advance(by: delay(upTo: 1_200))
      check("at \(engine.clock.now)")
    }
    // Every deadline has passed, and every dial has ended.
    engine.advance(by: .seconds(20) + Self.lateness)
    let holdings = engine.holdings, most = engine.settings.idleConnections
    expect(!holdings.hasExchanges && holdings.dials == 0, "the engine holds \(holdings)")
    expect(holdings.connections <= most, "\(holdings.connections) connections are kept of \(most)")
    expect(holdings.descriptors == holdings.connections, "the engine holds \(holdings)")
    engine.advance(by: .seconds(61))
    self.end()
  }

  private func end() {
    check("at the end")
    expect(entries.allSatisfy(\.call.isOver), "a request is never answered")
    expect(engine.holdings == .atRest(connections: 0), "the engine holds \(engine.holdings)")
    expect(engine.network.openCount == 0, "\(engine.network.openCount) links stay open")
    engine.shutDown()
    for entry in entries {
      outcomes[entry.call.words, default: 0] += 1
      resends += entry.call.response?.facts.resends ?? 0
    }
  }

  /// Opens a connection to each host, so that the server's limits are known before any fault.
  private func warmUp() {
    hasFaults = false
    for _ in 0..<20 { submit() }
    engine.advance(by: .seconds(20))
    check("when it is warm")
    hasFaults = true
  }

  /// Starts a request, and cancels one in three: at once, or in the middle of a turn of the loop.
  private func submitCancelling() {
    submit()
    guard Int.random(in: 0..<3, using: &random) == 0, let call = entries.last?.call else { return }
    cancellations += 1
    if chance(10) { call.job.cancel() } else { engine.network.after(delay()) { call.job.cancel() } }
  }

  /// Blocks the client's bytes on a connection for a while. Does so only if bytes take time; otherwise a request that
  /// has not arrived would be mistaken for a waiting one.
  private func stall() {
    guard isSlow, let far = engine.network.openLinks.randomElement(using: &random)?.far else { return }
    far.accepts = false
    far.act(after: delay()) { far.accepts = true }
  }

  private func submit() {
    let number = entries.count, isRepeatable = chance(60)
    let host = ["a", "b"].randomElement(using: &random) ?? "a"
    let limit = Duration.milliseconds(Int.random(in: 500...15_000, using: &random))
    var request = TransferRequest.to(
      "/\(number)", isRepeatable ? .get : .post, scheme: isHTTP2 ? "https" : "http", authority: host,
      body: isRepeatable ? .empty : RequestBody(source: .bytes(Data(count: chance(20) ? 10_000 : 4))))
    request.deadline = limit
    request.allowsResend = isRepeatable
    if chance(30) { request.idleTimeout = .milliseconds(Int.random(in: 500...4_000, using: &random)) }
    if chance(30) { request.connectTimeout = .milliseconds(Int.random(in: 100...2_000, using: &random)) }
    // The number is determined first, because the request may be sent at once.
    let call = engine.prepare(request)
    current.append(number)
    entries.append(
      Entry(
        call: call, target: "/\(number)", host: host, isRepeatable: isRepeatable, deadline: engine.clock.now + limit))
    engine.begin(call)
  }

  // MARK: Invariants

  private func expect(_ condition: Bool, _ fault: @autoclosure () -> String) {
    if !condition { faults.append("seed \(seed): \(fault())") }
  }

  private func check(_ place: String) {
    let now = engine.clock.now
    for entry in current.map({ entries[$0] }) {
      let most = entry.isRepeatable ? 1 + entry.call.job.resends : 1
      expect(entry.served <= most, "\(entry.target) was served \(entry.served) times \(place)")
      if let text = entry.call.text { expect(text == entry.target, "\(entry.target) got \(text) \(place)") }
      expect(entry.call.isOver || now < entry.deadline, "\(entry.target) outlived its deadline \(place)")
    }
    let active = current.count { !entries[$0].call.isOver }
    expect(engine.activeJobs == active, "\(engine.activeJobs) jobs are counted, \(active) are open \(place)")
    if !isHTTP2 { for host in ["a", "b"] { checkHost(host, place) } }
    // Bytes that are in flight to a server arrive within seconds.
    current.removeAll { entries[$0].call.isOver && now > entries[$0].deadline + .seconds(30) }
  }

  /// Checks the rules of connections that carry one request at a time.
  private func checkHost(_ host: String, _ place: String) {
    let links = engine.network.openLinks.filter { hosts[$0.id] == host }
    let dials = engine.connector.dialsUnderWay(to: host)
    let settings = engine.settings
    expect(links.count + dials <= settings.connectionsPerHost, "too many connections to \(host) \(place)")
    expect(dials <= settings.dialsPerHost, "too many dials to \(host) \(place)")
    if isSlow { return }
    let busy = Set(current.compactMap { entries[$0].link })
    let waiting = current.map { entries[$0] }.filter { !$0.call.isOver && $0.host == host && $0.link == nil }
    let idle = links.filter { !busy.contains($0.id) }
    expect(idle.count <= max(1, settings.idleConnections), "too many idle connections \(place)")
    let plain = waiting.filter { $0.call.job.resends == 0 }
    expect(plain.isEmpty || idle.isEmpty, "\(plain.map(\.target)) wait beside an idle connection \(place)")
    let mayDial = links.count + dials < settings.connectionsPerHost && dials < settings.dialsPerHost
    expect(waiting.count <= dials || !mayDial, "\(waiting.map(\.target)) wait although a dial is allowed \(place)")
    let queued = max(0, plain.count - dials)
    expect(queued <= settings.maximumQueuedRequests, "\(queued) requests are queued \(place)")
  }
}
