// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroFleet

/// Three instances that replace their tokens over and over, a store and an endpoint. Each operation of the store, each
/// request and each response is an event of its own.
private struct SharingWorld: BoundedWorld {
  enum Choice {
    /// An instance does what is next for it.
    case step(Int)
    /// An instance ends, and another one takes its place.
    case crash(Int)
    /// Half of a lease passes.
    case time
  }

  enum Phase: Hashable {
    case idle
    case sharing(TokenRecord, version: Int)
    case announcing(TokenRecord, version: Int, replacing: AccessToken?, deadline: Int)
    case announced(TokenRecord, version: Int, replacing: AccessToken?, deadline: Int)
    /// The endpoint has processed the request, and its response is under way.
    case sent(TokenRecord, version: Int, token: AccessToken, spent: String, deadline: Int)
    case keeping(TokenRecord, version: Int, token: AccessToken, spent: String, deadline: Int)
  }

  struct Instance: Hashable {
    var sharing: TokenSharing
    var old: AccessToken?
    var phase = Phase.idle
    var starts = 0

    /// The refresh token that the instance has spent without keeping its successor, and the time until it may.
    var spending: (token: String, deadline: Int)? {
      switch phase {
      case .sent(_, _, _, let spent, let deadline), .keeping(_, _, _, let spent, let deadline): (spent, deadline)
      default: nil
      }
    }
  }

  struct State: Hashable {
    var instances: [Instance]
    var record: TokenRecord?
    var version = 0
    /// In seconds.
    var now = 0
    /// The number of pairs that the endpoint has issued.
    var issued = 0
  }

  var state: State
  var broken: [String] = []

  /// The bugs that are planted to see that they are found.
  enum Plant {
    /// Leases of others are not seen.
    case ignoresLeases
    /// An instance counts its lease from its announcement, and not from the read before it.
    case countsLate
  }

  private let plant: Plant?

  static let lease = 20, limit = 15

  init(plant: Plant? = nil) {
    self.plant = plant
    state = State(instances: (0..<3).map { Self.instance($0, starts: 0) })
  }

  static func instance(_ number: Int, starts: Int) -> Instance {
    Instance(
      sharing: TokenSharing(name: "api", instance: "\(number).\(starts)", lease: .seconds(lease)), starts: starts)
  }

  var choices: [Choice] { (0..<3).flatMap { [.step($0), .crash($0)] } + [.time] }

  mutating func apply(_ choice: Choice) {
    switch choice {
    case .step(let number): step(number)
    case .crash(let number):
      state.instances[number] = Self.instance(number, starts: state.instances[number].starts + 1)
    case .time: state.now += Self.lease / 2
    }
  }

  private mutating func step(_ number: Int) {
    let now = Duration.seconds(state.now)
    switch state.instances[number].phase {
    case .idle:
      var seen = state.record
      if plant == .ignoresLeases { seen?.spender = nil }
      let next = state.instances[number].sharing.decide(replacing: state.instances[number].old, seen, at: now)
      switch next {
      case .use(let token): state.instances[number].old = token
      case .wait: break
      case .share(let record): state.instances[number].phase = .sharing(record, version: state.version)
      case .spend(let record, let replaced):
        state.instances[number].phase = .announcing(
          record, version: state.version, replacing: replaced, deadline: state.now + Self.limit)
      }
    case .sharing(let record, let version):
      set(record, ifAt: version)
      state.instances[number].phase = .idle
    case .announcing(let record, let version, let replaced, var deadline):
      if plant == .countsLate { deadline = state.now + Self.limit }
      let isSet = set(record, ifAt: version)
      state.instances[number].phase =
        isSet
        ? .announced(record, version: state.version, replacing: replaced, deadline: deadline) : .idle
    case .announced(let record, let version, let replaced, let deadline):
      guard state.now < deadline else { return state.instances[number].phase = .idle }
      let spent = replaced?.refreshToken?.reveal() ?? "first"
      for other in state.instances {
        if let spending = other.spending, spending.token == spent, state.now < spending.deadline {
          broken.append("\(spent) is spent by two instances at a time")
        }
      }
      state.issued += 1
      let token = try? AccessToken(
        Secret("a\(state.issued)"), expiresIn: .seconds(25), refreshToken: Secret("r\(state.issued)"))
      guard let token else { return broken.append("no token") }
      state.instances[number].phase = .sent(record, version: version, token: token, spent: spent, deadline: deadline)
    case .sent(let record, let version, let token, let spent, let deadline):
      guard state.now < deadline else { return state.instances[number].phase = .idle }
      let next = state.instances[number].sharing.succeeded(record, with: token, at: now)
      state.instances[number].phase = .keeping(next, version: version, token: token, spent: spent, deadline: deadline)
    case .keeping(let record, let version, let token, _, _):
      set(record, ifAt: version)
      state.instances[number].old = token
      state.instances[number].phase = .idle
    }
  }

  @discardableResult
  private mutating func set(_ record: TokenRecord, ifAt version: Int) -> Bool {
    guard state.version == version else { return false }
    if record.generation < state.record?.generation ?? 0 { broken.append("a later pair was overwritten") }
    state.record = record
    state.version += 1
    return true
  }

  mutating func finish() {
    let newcomer = state.instances.count
    state.instances.append(Self.instance(newcomer, starts: 0))
    for _ in 0..<40 where state.instances[newcomer].old == nil {
      step(newcomer)
      if case .idle = state.instances[newcomer].phase { state.now += 1 }
    }
    if state.instances[newcomer].old == nil { broken.append("a new instance gets no token") }
  }
}

@Suite("Decisions about a shared token", .timeLimit(.minutes(15)))
struct TokenSharingTests {
  @Test("In all histories of three instances up to eight events, each refresh token has one spender at a time")
  func histories() {
    let histories = BoundedHistories(bound: 8 + BoundedHistories.extra, isValue: true) { SharingWorld() }
    #expect(histories.failure == nil)
    histories.print("shared tokens")
  }

  @Test("Planted bugs are found", arguments: [SharingWorld.Plant.ignoresLeases, .countsLate])
  fileprivate func planted(_ plant: SharingWorld.Plant) {
    let histories = BoundedHistories(bound: 8, isValue: true) { SharingWorld(plant: plant) }
    #expect(histories.failure?.hasPrefix("first is spent by two instances at a time") == true)
  }

  @Test("An instance without a token takes a valid one even while another instance replaces it")
  func newcomer() throws {
    let token = try AccessToken("a", expiresIn: .seconds(100), refreshToken: "r")
    var record = TokenRecord(name: "api")
    record.pair = TokenRecord.Pair(token, at: 0)
    record.spender = TokenRecord.Spender(instance: "other", until: 20_000)
    var sharing = TokenSharing(name: "api", instance: "own", lease: .seconds(20))
    #expect(sharing.decide(replacing: nil, record, at: .seconds(1)) == .use(record.pair?.token(at: 1000) ?? token))
    #expect(sharing.decide(replacing: token, record, at: .seconds(1)) == .wait(.seconds(19)))
    #expect(sharing.decide(replacing: nil, record, at: .seconds(101)) != .wait(.seconds(1)))
  }

  @Test("A shared token keeps its type, and a record without one has a Bearer token")
  func types() throws {
    var pair = TokenRecord.Pair(try AccessToken("a", type: "DPoP"), at: 0)
    #expect(pair.token(at: 0)?.type == "DPoP")
    pair.type = nil
    #expect(pair.token(at: 0)?.type == "Bearer")
  }

  @Test("A lease that ends too late by the store's clock blocks the others for no longer than a lease")
  func wrongClock() throws {
    var record = TokenRecord(name: "api")
    record.spender = TokenRecord.Spender(instance: "other", until: 1_000_000_000)
    var sharing = TokenSharing(name: "api", instance: "own", lease: .seconds(20))
    #expect(sharing.decide(replacing: nil, record, at: .zero) == .wait(.seconds(20)))
  }
}
