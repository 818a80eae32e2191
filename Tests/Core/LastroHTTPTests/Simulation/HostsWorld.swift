// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// An engine in virtual time with one connection to each of several hosts, and a plain model of which requests run and
/// wait, and which connections are idle.
final class HostsWorld: BoundedWorld {
  /// A property that holds in every history.
  enum Property: String {
    case idleOrder = "Beyond the idle limit, the connection that has been idle longest is closed"
    case idleLimit = "No more connections are idle than the limit"
    case kept = "An idle connection is kept until the limit, its lifetime or its server closes it"
    case idleTime = "A connection is closed when it has been idle for its lifetime, and not before"
    case queue = "A request is refused if its host and the queue of all hosts are full, and only then"
    case served = "The requests of a host are served in the order of their arrival"
    case reuse = "A request is sent on its host's idle connection, and dials only if there is none"
    case remembered = "A host in use is remembered, and no more unused ones are than allowed"
    case ends = "Every request ends, and nothing is left behind"
  }

  /// A setting that differs from the one of the model, as if the engine had forgotten it.
  enum Plant: String, CaseIterable {
    case idleLimit, idleLifetime, queueLimit, connectionLimit, rememberedHosts, connectionLifetime

    var breaks: Property {
      switch self {
      case .idleLimit: .idleLimit
      case .idleLifetime: .idleTime
      case .queueLimit: .queue
      case .connectionLimit: .served
      case .connectionLifetime: .kept
      case .rememberedHosts: .remembered
      }
    }
  }

  enum Host: String, CaseIterable { case a, b, c }

  enum Choice: Hashable {
    case submit(Host)
    /// The server responds to the request that it has. `closes`: with `Connection: close`.
    case respond(Host, closes: Bool)
    /// The server closes an idle connection.
    case close(Host)
    /// The latest request that waits, or else the one that runs, is cancelled.
    case cancel(Host)
    /// The rules change, so that an idle connection may not be used any more.
    case outdate(Host)
    /// Six tenths of the idle lifetime pass.
    case wait
  }

  /// A host as the model sees it.
  private struct Model {
    var running: Int?
    var queue: [Int] = []
    var idleSince: Duration?
    var isOutdated = false

    var isUsed: Bool { running != nil || idleSince != nil }
  }

  private static let idleLimit = 2
  private static let queueLimit = 1
  private static let idleLifetime = Duration.seconds(10)
  private static let rememberedHosts = 1

  private let engine: VirtualEngine
  private let mostRequests: Int
  private var calls: [VirtualCall] = []
  private var models: [Host: Model] = [:]
  /// The hosts with an idle connection, the one that has been idle longest first.
  private var idle: [Host] = []
  private var cancelled: Set<Int> = []
  private var refused: Set<Int> = []
  /// The servers of the open links by their hosts, with the requests that they have read.
  private var servers: [Host: MemoryHTTP1Server] = [:]
  private var links: [Host: MemoryLink] = [:]
  private var served: [Host: [Int]] = [:]
  private var expectedServed: [Host: [Int]] = [:]
  private var dials: [Host: Int] = [:]
  private var expectedDials: [Host: Int] = [:]
  /// The number of hosts in use when the engine last forgot the others, as its rule has it.
  private var mostHosts = rememberedHosts
  private(set) var broken: [String] = []

  init(requests: Int, plant: Plant? = nil) {
    mostRequests = requests
    engine = VirtualEngine { settings in
      settings.connectionsPerHost = plant == .connectionLimit ? 2 : 1
      settings.dialsPerHost = 1
      settings.idleConnections = plant == .idleLimit ? 3 : Self.idleLimit
      settings.maximumQueuedRequests = plant == .queueLimit ? 2 : Self.queueLimit
      settings.idleLifetime = plant == .idleLifetime ? .seconds(60) : Self.idleLifetime
      settings.connectionLifetime = plant == .connectionLifetime ? .seconds(1) : .seconds(300)
      settings.rememberedHosts = plant == .rememberedHosts ? 1_024 : Self.rememberedHosts
    }
    engine.network.dialing = { [unowned self] dial in
      .open { [unowned self] link in open(link, Host(rawValue: dial.target.host.text)) }
    }
  }

  deinit { engine.network.forgetScripts() }

  private func open(_ link: MemoryLink, _ host: Host?) {
    guard let host else { return }
    dials[host, default: 0] += 1
    links[host] = link
    servers[host] = MemoryHTTP1Server(link.far) { [unowned self] _, request in
      if let number = Int(request.target.dropFirst()) { served[host, default: []].append(number) }
    }
  }

  // MARK: Choices

  var choices: [Choice] {
    var choices: [Choice] = []
    for host in Host.allCases {
      let model = models[host] ?? Model()
      if calls.count < mostRequests { choices.append(.submit(host)) }
      if model.running != nil {
        choices += [.respond(host, closes: false), .respond(host, closes: true), .cancel(host)]
      }
      if model.idleSince != nil {
        choices.append(.close(host))
        if !model.isOutdated { choices.append(.outdate(host)) }
      }
    }
    if !idle.isEmpty { choices.append(.wait) }
    return choices
  }

  func apply(_ choice: Choice) {
    switch choice {
    case .submit(let host): submit(host)
    case .respond(let host, let closes):
      servers[host]?.respond("\(models[host]?.running ?? -1)", fields: closes ? ["Connection": "close"] : [:])
      end(host, keepsConnection: !closes)
    case .close(let host):
      links[host]?.far.end()
      removeIdle(host)
    case .cancel(let host):
      if let number = models[host]?.queue.popLast() ?? models[host]?.running {
        cancelled.insert(number)
        calls[number].job.cancel()
        if models[host]?.running == number { end(host, keepsConnection: false) }
      }
    case .outdate(let host):
      models[host]?.isOutdated = true
      links[host]?.isCurrent = false
    case .wait:
      let now = engine.clock.now + .seconds(6)
      engine.advance(by: .seconds(6))
      for host in idle where (models[host]?.idleSince ?? now) + Self.idleLifetime <= now { removeIdle(host) }
    }
    engine.settle()
    check()
  }

  private func submit(_ host: Host) {
    let number = calls.count
    if models[host] == nil { remember() }
    let isBusy = models[host]?.running != nil
    let queued = models.values.reduce(0) { $0 + $1.queue.count }
    if isBusy, queued >= Self.queueLimit {
      refused.insert(number)
    } else if isBusy {
      models[host]?.queue.append(number)
    } else {
      run(number, on: host)
    }
    calls.append(engine.submit(.to("/\(number)", authority: host.rawValue)))
  }

  /// Has the model forget unused hosts before it learns about another one.
  private func remember() {
    guard models.count > mostHosts else { return }
    models = models.filter(\.value.isUsed)
    mostHosts = max(Self.rememberedHosts, 2 * models.count)
  }

  private func run(_ number: Int, on host: Host) {
    var model = models[host] ?? Model()
    if model.idleSince == nil || model.isOutdated { expectedDials[host, default: 0] += 1 }
    model.running = number
    model.idleSince = nil
    model.isOutdated = false
    models[host] = model
    idle.removeAll { $0 == host }
    expectedServed[host, default: []].append(number)
  }

  /// Ends the request that runs on a host. The next one follows, or the connection becomes idle.
  private func end(_ host: Host, keepsConnection: Bool) {
    models[host]?.running = nil
    if let next = models[host]?.queue.first {
      models[host]?.queue.removeFirst()
      if !keepsConnection { return run(next, on: host) }
      models[host]?.running = next
      expectedServed[host, default: []].append(next)
    } else if keepsConnection {
      models[host]?.idleSince = engine.clock.now
      idle.append(host)
      if idle.count > Self.idleLimit { removeIdle(idle[0]) }
    }
  }

  private func removeIdle(_ host: Host) {
    models[host]?.idleSince = nil
    models[host]?.isOutdated = false
    idle.removeAll { $0 == host }
  }

  // MARK: Properties

  private func expect(_ condition: Bool, _ property: Property, _ detail: @autoclosure () -> String) {
    if !condition { broken.append("\(property.rawValue): \(detail())") }
  }

  private func check() {
    for (number, call) in calls.enumerated() {
      let isRefused = call.words == "limit/queue_full"
      expect(isRefused == refused.contains(number), .queue, "/\(number) ended \(call.words)")
    }
    let idleLinks = Host.allCases.filter { models[$0]?.running == nil && links[$0]?.isClosed == false }
    let expected = idle.sorted()
    expect(idleLinks.count <= Self.idleLimit, .idleLimit, "\(idleLinks.count) are idle")
    expect(idleLinks.count <= expected.count, .idleTime, "\(idleLinks) are idle, not \(expected)")
    expect(idleLinks.count >= expected.count, .kept, "\(idleLinks) are idle, not \(expected)")
    expect(idleLinks.count != expected.count || idleLinks == expected, .idleOrder, "\(idleLinks), not \(expected)")
    for host in Host.allCases {
      expect((served[host] ?? []) == (expectedServed[host] ?? []), .served, "\(host) served \(served[host] ?? [])")
    }
    let wanted = Host.allCases.map { expectedDials[$0] ?? 0 }
    let found = Host.allCases.map { dials[$0] ?? 0 }
    expect(found == wanted && engine.network.openCount <= Host.allCases.count, .reuse, "\(found) dials, not \(wanted)")
    let hosts = engine.port.reference.core?.hosts.map(\.key.authority).sorted() ?? []
    expect(hosts == models.keys.map(\.rawValue).sorted(), .remembered, "\(hosts), not \(models.keys.sorted())")
  }

  func finish() {
    for _ in 0..<20 {
      guard let host = Host.allCases.first(where: { models[$0]?.running != nil }) else { break }
      apply(.respond(host, closes: false))
    }
    for (number, call) in calls.enumerated() {
      let isCut = cancelled.contains(number) || refused.contains(number)
      expect(isCut ? call.isOver : call.text == "\(number)", .ends, "/\(number) ended \(call.words)")
    }
    engine.advance(by: Self.idleLifetime)
    expect(engine.network.openCount == 0, .idleTime, "\(engine.network.openCount) are open")
    expect(engine.holdings == .atRest(connections: 0), .ends, "\(engine.holdings)")
  }

  // MARK: State

  var state: [String] {
    var state = ["\(idle) \(mostHosts) \(calls.count)"]
    for host in Host.allCases {
      let model = models[host]
      let age = model?.idleSince.map { "\(engine.clock.now - $0)" } ?? "-"
      state.append(
        "\(model != nil) \(model?.running != nil) \(model?.queue.count ?? 0) \(age) \(model?.isOutdated ?? false)")
    }
    return state
  }
}

extension HostsWorld.Host: Comparable {
  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
