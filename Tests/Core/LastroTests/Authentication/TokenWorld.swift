// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import Lastro

/// A plain model of the calls, the source and the server around a ``RefreshMachine``. It performs the machine's steps,
/// and knows the possible next events.
struct TokenWorld: BoundedWorld {
  /// A property that holds in every history.
  enum Property: String {
    case oneRefresh = "The source is not called again before it returned or its time has passed"
    case wakes = "A call waits only while a refresh or a replacement is in progress, and each wait ends"
    case newest = "A call gets the newest token"
    case unexpired = "A call gets no token that had expired before its refresh began"
    case late = "A result that arrives after the end of its refresh has no effect"
    case cancellation = "Cancelling a call ends neither the refresh nor another wait"
    case refused = "While a refused token is being replaced, no call gets it"
    case pause = "After a failed refresh without a valid token, the source is not called for a second"
    case replacement = "No refresh begins while the application replaces the token"
  }

  /// A fault between the machine and its owner that breaks a property.
  enum Plant: String, CaseIterable {
    /// A refresh does not wait for its turn.
    case asksAtOnce
    /// The last call that waits is not resumed.
    case losesWaiter
    /// A late result is reported as that of the current refresh.
    case acceptsLate
    /// A refresh ends with the call that waits for it.
    case cancelsRefresh
    /// A refused call does not tell which token it had, and a refresh ahead of expiry is assumed.
    case forgetsRefusal
    /// The machine is told a later time.
    case hurries
    /// A token that the machine ends a wait with is replaced by the one before.
    case sendsOlder

    var breaks: Property {
      switch self {
      case .asksAtOnce: .oneRefresh
      case .losesWaiter: .wakes
      case .acceptsLate: .late
      case .cancelsRefresh: .cancellation
      case .forgetsRefusal: .refused
      case .hurries: .pause
      case .sendsOlder: .newest
      }
    }
  }

  enum Choice: Hashable {
    case call
    /// The server responds to a call's request: with 401 if the token was revoked or has expired.
    case respond(Int)
    /// A resumed call asks for a token again.
    case proceed(Int)
    case cancel(Int)
    /// The source returns, possibly long after its task was cancelled.
    case succeed(UInt64)
    case fail(UInt64)
    /// The time limit of the current refresh, or of its wait for its turn, passes.
    case limit
    /// The server accepts none of the tokens any more that were issued so far.
    case revoke
    /// The token is due for a refresh, or has expired.
    case due
    case expire
    case beginReplacing
    case endReplacing(removes: Bool)
  }

  enum Call: Hashable {
    /// Waits for a token. `wasRefused`: to repeat a request whose token was refused.
    case waiting(UInt64, wasRefused: Bool, hasFailed: Bool)
    case resumed
    case sent(token: Int, hasFailed: Bool)
    case done
    case failed
    case cancelled
  }

  private static let lifetime = Duration.seconds(100)
  private static let limit = Duration.seconds(30)

  private let plant: Plant?
  private let mostCalls: Int
  private(set) var machine: RefreshMachine
  private var calls: [Call] = []
  private var now = Duration.seconds(1_000)
  private var issued = 0
  /// The latest token that the server refuses.
  private var revoked = 0
  /// The newest token that was stored; 0 if there is none.
  private var newest = 0
  private var expiry = Duration.zero
  /// The calls of the source that have not returned.
  private var running: Set<UInt64> = []
  /// The running calls whose time has passed.
  private var overdue: Set<UInt64> = []
  private var failedAt: Duration?
  private var steps: [RefreshMachine.Step] = []
  private(set) var broken: [String] = []

  /// - Parameter hasToken: whether there is a valid token at the beginning.
  init(calls: Int, hasToken: Bool, plant: Plant? = nil) {
    self.plant = plant
    mostCalls = calls
    machine = RefreshMachine(TokenMachine(leeway: .seconds(30), maximumRefreshes: nil))
    guard hasToken else { return }
    machine.beginReplacement(&steps)
    machine.endReplacement(with: issue(at: now), at: now, &steps)
  }

  /// Returns a new token, which is the newest one.
  private mutating func issue(at start: Duration) -> AccessToken {
    issued += 1
    newest = issued
    expiry = start + Self.lifetime
    return token(issued)
  }

  private var isValid: Bool { newest > 0 && now < expiry }

  private func token(_ number: Int) -> AccessToken {
    AccessToken(
      value: Secret("t\(number)"), expiresIn: Self.lifetime, refreshToken: nil, scope: nil,
      type: "Bearer")
  }

  private func number(of token: AccessToken) -> Int { Int(token.value.reveal().dropFirst()) ?? 0 }

  // MARK: Choices

  var choices: [Choice] {
    var choices: [Choice] = calls.count < mostCalls ? [.call] : []
    for (index, call) in calls.enumerated() {
      switch call {
      case .waiting: choices.append(.cancel(index))
      case .resumed: choices.append(.proceed(index))
      case .sent: choices.append(.respond(index))
      case .done, .failed, .cancelled: break
      }
    }
    for id in running.sorted() { choices += [.succeed(id), .fail(id)] }
    if machine.flight != nil { choices.append(.limit) }
    if revoked < issued { choices.append(.revoke) }
    if let credential = machine.tokens.credential, let due = credential.due, let expiry = credential.expiry {
      if now < due { choices.append(.due) }
      if now < expiry { choices.append(.expire) }
    }
    choices.append(machine.replacements == 0 ? .beginReplacing : .endReplacing(removes: false))
    if machine.replacements > 0 { choices.append(.endReplacing(removes: true)) }
    return choices
  }

  mutating func apply(_ choice: Choice) {
    switch choice {
    case .call:
      calls.append(.resumed)
      request(calls.count - 1, hasFailed: false)
    case .proceed(let index): request(index, hasFailed: true)
    case .respond(let index): respond(index)
    case .cancel(let index): cancel(index)
    case .succeed(let id): sourceReturns(id, succeeds: true)
    case .fail(let id): sourceReturns(id, succeeds: false)
    case .limit: passLimit()
    case .revoke: revoked = issued
    case .due: now = machine.tokens.credential?.due ?? now
    case .expire: now = machine.tokens.credential?.expiry ?? now
    case .beginReplacing: machine.beginReplacement(&steps)
    case .endReplacing(let removes):
      machine.endReplacement(with: removes ? nil : issue(at: now), at: now, &steps)
      if removes { newest = 0 }
      failedAt = nil
    }
    perform()
    check()
  }

  // MARK: Calls

  private mutating func request(_ index: Int, hasFailed: Bool) {
    let isRefused = machine.flight?.isRefused == true || machine.replacements > 0
    let time = plant == .hurries ? now + .seconds(1) : now
    if let token = machine.ready(for: UInt64(index + 1), at: time) {
      if isRefused { fail(.refused, "call \(index)") }
      return hand(token, to: index, hasFailed)
    }
    let waiter = machine.makeID()
    let settled = machine.settle(
      .request(hasFailed: hasFailed), call: UInt64(index + 1), waiter: waiter, at: time, &steps)
    guard let settled else {
      return calls[index] = .waiting(waiter, wasRefused: false, hasFailed: hasFailed)
    }
    if isRefused, case .token = settled { fail(.refused, "call \(index)") }
    resume(index, settled, wasRefused: false, hasFailed, isNew: false)
  }

  private mutating func respond(_ index: Int) {
    guard case .sent(let number, let hasFailed) = calls[index] else { return }
    guard number <= revoked else { return calls[index] = .done }
    // A second 401 in the same call is final.
    if hasFailed { return calls[index] = .failed }
    let waiter = machine.makeID()
    let need: RefreshMachine.Need =
      plant == .forgetsRefusal ? .request(hasFailed: true) : .refused(token(number).value)
    if let settled = machine.settle(need, call: UInt64(index + 1), waiter: waiter, at: now, &steps) {
      resume(index, settled, wasRefused: true, true, isNew: false)
    } else {
      calls[index] = .waiting(waiter, wasRefused: true, hasFailed: true)
      if machine.flight?.isRefused != true, machine.replacements == 0 { fail(.refused, "call \(index) waits") }
    }
  }

  private mutating func resume(
    _ index: Int, _ settled: RefreshMachine.Settled, wasRefused: Bool, _ hasFailed: Bool, isNew: Bool
  ) {
    switch settled {
    case .token(let token) where !wasRefused: hand(token, to: index, hasFailed, isNew: isNew)
    case .token, .replaced: calls[index] = .resumed
    case .failed:
      if !wasRefused, let token = machine.tokens.valid(at: now) { return hand(token, to: index, hasFailed) }
      calls[index] = .failed
    }
  }

  private mutating func hand(_ token: AccessToken, to index: Int, _ hasFailed: Bool, isNew: Bool = false) {
    let number = number(of: token)
    if number != newest { fail(.newest, "call \(index) got t\(number), and the newest is t\(newest)") }
    // The lifetime of a token counts from the beginning of its refresh, which may have taken longer.
    if !isNew, !isValid { fail(.unexpired, "call \(index) got t\(number)") }
    calls[index] = .sent(token: number, hasFailed: hasFailed)
  }

  private mutating func cancel(_ index: Int) {
    guard case .waiting(let waiter, _, _) = calls[index] else { return }
    let before = (machine.flight?.id, machine.asking, machine.waiters.subtracting([waiter]))
    machine.left(waiter)
    calls[index] = .cancelled
    if plant == .cancelsRefresh, let id = before.0 {
      machine.timedOut(id, .refreshTimedOut(Self.limit), at: now, &steps)
    }
    let after = (machine.flight?.id, machine.asking, machine.waiters)
    if before != after || !steps.isEmpty { fail(.cancellation, "call \(index)") }
  }

  // MARK: The source

  private mutating func sourceReturns(_ id: UInt64, succeeds: Bool) {
    running.remove(id)
    overdue.remove(id)
    let isCurrent = machine.flight?.id == id, version = machine.tokens.version
    let error = TestError(name: "source")
    if isCurrent, !succeeds { failedAt = now }
    if isCurrent, succeeds { failedAt = nil }
    let before = (newest, expiry)
    let result: Result<AccessToken, any Error> =
      succeeds ? .success(issue(at: machine.flight?.start ?? now)) : .failure(error)
    if !isCurrent { (newest, expiry) = before }
    let taken = plant == .acceptsLate ? machine.flight?.id ?? id : id
    machine.sourceReturned(taken, result, at: now, &steps)
    if !isCurrent, machine.tokens.version != version { fail(.late, "\(id)") }
  }

  private mutating func passLimit() {
    guard let flight = machine.flight else { return }
    now = max(now, flight.start + Self.limit)
    // A call that has not returned by now has had its time, too.
    overdue = running
    if flight.hasAsked {
      failedAt = now
      machine.timedOut(flight.id, .refreshTimedOut(Self.limit), at: now, &steps)
    } else {
      machine.waitedTooLong(flight.id, at: now, &steps)
    }
  }

  private mutating func perform() {
    while !steps.isEmpty {
      let step = steps.removeFirst()
      switch step {
      case .ask(let id, _): ask(id)
      case .waitForTurn(let id): if plant == .asksAtOnce { ask(id) }
      // A source may ignore that its task is cancelled.
      case .cancel: break
      case .settle(let waiters, let settled): settle(waiters, settled)
      }
    }
  }

  private mutating func ask(_ id: UInt64) {
    if !running.isSubset(of: overdue) { fail(.oneRefresh, "\(id) beside \(running.sorted())") }
    if machine.replacements > 0 { fail(.replacement, "\(id)") }
    let isPausing = failedAt.map { now < $0 + .seconds(1) } ?? false
    if isPausing, !isValid { fail(.pause, "\(id)") }
    running.insert(id)
  }

  private mutating func settle(_ waiters: [UInt64], _ settled: RefreshMachine.Settled) {
    for waiter in plant == .losesWaiter ? Array(waiters.dropLast()) : waiters {
      let index = calls.firstIndex { if case .waiting(waiter, _, _) = $0 { true } else { false } }
      guard let index, case .waiting(_, let wasRefused, let hasFailed) = calls[index] else {
        fail(.wakes, "\(waiter) does not wait")
        continue
      }
      var settled = settled
      if plant == .sendsOlder, case .token(let token) = settled { settled = .token(self.token(number(of: token) - 1)) }
      resume(index, settled, wasRefused: wasRefused, hasFailed, isNew: true)
    }
  }

  // MARK: Properties

  private mutating func fail(_ property: Property, _ detail: String) {
    broken.append("\(property.rawValue): \(detail)")
  }

  private var waiting: Set<UInt64> {
    Set(calls.compactMap { if case .waiting(let waiter, _, _) = $0 { waiter } else { nil } })
  }

  private mutating func check() {
    if waiting != machine.waiters { fail(.wakes, "\(waiting.sorted()) wait, not \(machine.waiters.sorted())") }
    let isBusy = machine.flight != nil || machine.replacements > 0
    if !waiting.isEmpty, !isBusy { fail(.wakes, "nothing is in progress") }
  }

  /// Ends a replacement, and has the source return with tokens, until no call waits.
  mutating func finish() {
    for _ in 0..<20 where broken.isEmpty {
      if machine.replacements > 0 {
        apply(.endReplacing(removes: false))
      } else if let index = calls.firstIndex(of: .resumed) {
        apply(.proceed(index))
      } else if let id = running.min() {
        apply(.succeed(id))
      } else {
        break
      }
    }
    let flight = machine.flight
    if !waiting.isEmpty || flight != nil || machine.asking != nil { fail(.wakes, "\(calls) at the end") }
  }

  // MARK: State

  /// The world with identifiers replaced by their order, and times by the distance from now.
  struct State: Hashable {
    var calls: [Call]
    var numbers: [Int]
    var flight: [Int]
    var isRefused: Bool?
    var hasAsked: Bool?
    var running: [Int]
    var overdue: [Int]
    var times: [Duration?]
    var isFailureOfCredential: Bool
  }

  var state: State {
    var ids = running.union(machine.waiters)
    if let id = machine.flight?.id { ids.insert(id) }
    if let id = machine.asking { ids.insert(id) }
    let order = ids.sorted()
    func rank(_ id: UInt64?) -> Int { id.flatMap { order.firstIndex(of: $0) } ?? -1 }
    let calls = calls.map { call in
      guard case .waiting(let waiter, let wasRefused, let hasFailed) = call else { return call }
      return Call.waiting(UInt64(rank(waiter)), wasRefused: wasRefused, hasFailed: hasFailed)
    }
    let tokens = machine.tokens, flight = machine.flight
    return State(
      calls: calls,
      numbers: [
        issued, revoked, newest, machine.replacements, Int(tokens.lastCall), Int(tokens.failure?.lastCall ?? 0),
      ],
      flight: [rank(flight?.id), rank(machine.asking)], isRefused: flight?.isRefused, hasAsked: flight?.hasAsked,
      running: running.map(rank).sorted(), overdue: overdue.map(rank).sorted(),
      times: [
        tokens.credential?.due.map { $0 - now }, tokens.credential?.expiry.map { $0 - now },
        tokens.failure.map { $0.time - now }, tokens.failure?.pause, flight.map { $0.start - now },
        failedAt.map { $0 - now }, expiry - now,
      ],
      isFailureOfCredential: tokens.failure?.version == tokens.version)
  }
}
